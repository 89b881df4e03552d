/**
 * Must be last: revokes every function right that is not granted beside its function, also for the extension's
 * functions.
 */
export const functionRights = `
revoke execute on all functions in schema public from public;
`;
