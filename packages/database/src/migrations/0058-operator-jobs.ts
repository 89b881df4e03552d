/**
 * Operators list the jobs of all organisations, newest first. Most are ended well, so those that ended badly have an index
 * of their own; the few open ones are found by the indexes of the claim.
 */
export const operatorJobs = `
create index job_newest on job (created_at desc, id desc);
create index job_newest_ended_badly on job (created_at desc, id desc) where status in ('failed', 'cancelled');
`;
