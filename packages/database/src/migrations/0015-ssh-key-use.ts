/** Who put an SSH key in, and when a server was last given it. Keys of before know neither. */
export const sshKeyUse = `
alter table ssh_key
  add column created_by jsonb,
  add column last_used_at timestamptz;
`;
