/** English texts of signing in with a provider and of linked accounts. */
export const identitiesEn = {
  providers: {
    signInWith: (label: string) => `Sign in with ${label}`,
    joinWith: (label: string) => `Join with ${label}`,
    joinHint: (email: string) =>
      `For the account there whose address is ${email}. You need no password here.`,
    or: "or",
    goOn: (label: string) => `On to ${label}`,
    goOnLead: (label: string) => `${label} asks who you are and brings you back here.`,
    goOnLink: (label: string) => `Continue to ${label}`,
    failed:
      "The sign-in did not work: it took too long, was used before, or began in another browser. Start again.",
    away: (label: string) => `${label} does not answer at the moment. Try again, or sign in another way.`,
    gone: "This provider does not exist any more.",
    notConfigured: "Signing in with a provider is not set up completely. The operators can see why.",
    tooMany: "Too many attempts. Please wait a quarter of an hour.",
    /** By the precondition that does not hold. */
    refused: {
      provider_agreed: (label: string) => `${label} did not sign you in. Try again, or sign in another way.`,
      email_verified: (label: string) =>
        `${label} does not say that your e-mail address is yours. Have it verified there, then try again.`,
      email_domain_allowed: (label: string) =>
        `Addresses like yours do not sign in with ${label} here. Use another account there.`,
      invited: (label: string) =>
        `You do not belong to an organisation here yet. Open the link of your invitation and choose ${label} there.`,
      organisation_has_room: () =>
        "The organisation that people join here has no place left. Ask one of its members to free one, or an operator.",
      not_yet_an_account: (label: string) =>
        `There is an account with your e-mail address already. Sign in to it as before, then link ${label} under “Account and security”.`,
      identity_is_free: (label: string) => `This account at ${label} is linked already.`,
    } as Readonly<Record<string, (label: string) => string>>,
  },
  identities: {
    title: "Linked providers",
    hint: "Accounts elsewhere that sign you in here. Only you can link one, and never by its e-mail address alone.",
    none: "None is linked.",
    link: (label: string) => `Link ${label}`,
    account: "Account there",
    linked: "Linked",
    unknownAccount: "(not known)",
    goneProvider: "not offered any more",
    unlink: "Unlink",
    unlinkNamed: (label: string) => `Unlink ${label}`,
    unlinkQuestion: (label: string) => `Not sign in with ${label} any more?`,
    unlinkHint: "Your other sessions that it has opened end at once.",
    proveWith: (label: string) => `Prove it with ${label}`,
    noPassword: "You sign in without a password. You may set one, as another sign-in method.",
    setPassword: "Set password",
    resetNotice: (when: string) =>
      `An operator took your second factor away on ${when}. If you did not ask for that, change your password and tell your operators.`,
    reset: "Reset second factor",
    resetOf: (name: string) => `Reset second factor of ${name}`,
    resetQuestion: (name: string) =>
      `Take away the authenticator app, passkeys and recovery codes of ${name}?`,
    resetHint:
      "For a person who has lost them, and whose identity you have verified. All their sessions end, in every organisation.",
  },
};
