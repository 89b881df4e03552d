/** Since when a VM has what its guest takes up when it boots: whether it has booted since, a look at the region tells. */
export const rebootSince = `
alter table public_ip add column reboot_since timestamptz;
update public_ip set reboot_since = updated_at where requires_reboot;
alter table public_ip add check (requires_reboot = (reboot_since is not null));
`;
