/**
 * The trail is read by who acted and by what was done, newest first, and it only ever grows: without these, looking for
 * the few entries of somebody who seldom acts reads all of them.
 */
export const auditFilters = `
create index audit_actor on audit (actor_id, at desc, id desc);
create index audit_action on audit (organisation_id, action, at desc, id desc);
`;
