/** English texts of password resets. */
export const passwordResetEn = {
  passwordReset: {
    forgot: "Forgot your password?",
    mailLead: "We send a link to your e-mail. It lets you set a new password once, within an hour.",
    mail: "Send the link",
    mailed:
      "If there is an account with this e-mail and a password, a link has been sent. It can take a few minutes; check the spam folder too. If none arrives, ask whoever runs this installation for a link.",
    tooMany:
      "Too many links were asked for. Look into your mailbox, among unwanted mail too, or wait an hour and try again.",
    noEmail: "Enter an e-mail address such as ada@example.org.",
    ask: "Ask whoever runs this installation for a link. It lets you set a new password once, within an hour.",
    back: "Back to the sign-in",
    set: "Set a new password",
    lead: "You are signed out everywhere. If you have a second factor, you need it to sign in as before.",
    over: "This link was used before or is over. Ask for a new one.",
    done: "The new password is set. Sign in with it.",
    link: "Password link",
    linkFor: (name: string) => `Make a password link for ${name}`,
    linkQuestion: (name: string) => `Make a link by which ${name} sets a new password?`,
    linkHint:
      "It works once, within an hour, and ends the link before. Be sure who asks: whoever opens it has the account, but for its second factor.",
  },
};
