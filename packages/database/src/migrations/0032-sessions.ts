/** What a person is shown of their own sessions, and when one that is not used ends. */
export const sessions = `
alter table token
  add column opened_by text,
  add column user_agent text,
  add column source_address text,
  -- Null: unused or not, it lasts until expires_at.
  add column idle_seconds integer check (idle_seconds > 0),
  add constraint token_of_session check (
    kind = 'session' or (opened_by is null and user_agent is null and source_address is null and idle_seconds is null)
  );
alter table app_user add column password_changed_at timestamptz;
`;
