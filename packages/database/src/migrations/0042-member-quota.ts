/** Most members and open invitations together that an organisation may have; null is no limit. */
export const memberQuota = `
alter table organisation add column member_limit integer check (member_limit >= 0);
`;
