/** Why an operator entered an organisation by this token, or by the one that minted it; null for all others. */
export const operatorsEntry = `
alter table token add column operator_reason text;
`;
