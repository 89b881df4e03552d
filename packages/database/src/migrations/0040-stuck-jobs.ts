/** Operators ask which jobs ended badly: few of very many. The open ones have indexes already. */
export const stuckJobs = `
create index job_failed on job (finished_at) where status = 'failed';
`;
