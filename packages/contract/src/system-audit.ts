/** Actions of the audit trail that are no operation, or that happen under another operation's request. */
export type SystemAuditAction =
  | "agent.key_first"
  | "agent.key_pending"
  | "agent.refused"
  | "audit.remove"
  | "certificate.expires_soon"
  | "certificate.issue"
  | "domain.expire"
  | "domain.lose"
  | "domain.purge"
  | "installation.seed"
  | "job.end"
  | "password.mail_reset"
  | "server.console_closed"
  | "server.console_opened"
  | "server.observe"
  | "server.purge"
  | "vmid.replace";
