/**
 * The rules that a server's VM has by what its agent has said, as a look at the region tells them: how many, and the
 * digest of their lines. Null where that is not known, or where there are none.
 */
export const filterDigest = `
alter table server add column filter_digest text;
`;
