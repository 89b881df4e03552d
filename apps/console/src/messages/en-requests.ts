/** English texts beside a form: for a request without an answer, and for values that the API refuses. */
export const requestsEn = {
  requestProblems: {
    ended: "Your session has ended. Sign in again to continue: what you typed is kept.",
    signIn: "Sign in again",
    forbidden: "Your role no longer allows this. What you typed is still here.",
    gone: "What this is about no longer exists. What you typed is still here.",
    away: "The API does not answer at the moment. What you typed is still here: try again shortly.",
    broken: "Something went wrong on our side. What you typed is still here: try again.",
    kept: "What you typed is here again. Passwords have to be typed again.",
  },
  /** The format of a text, by the field of the API that it is for. */
  fieldFormats: {
    cidr: "Enter a range such as 10.1.0.0/16.",
    private_ip: "Enter an address such as 10.1.0.5.",
    address: "Enter an address such as 203.0.113.7.",
    addresses: "Enter addresses such as 203.0.113.7.",
    gateway: "Enter an address such as 203.0.113.1.",
    name: "Use lower-case letters, digits and hyphens, such as web-1.",
    slug: "Use lower-case letters, digits and hyphens, such as ist1.",
    ports: "Enter a port or a range such as 443 or 8000-8100.",
    email: "Enter an e-mail address such as ada@example.org.",
    dns_servers: "Enter addresses such as 192.0.2.53.",
    ptr: "Enter a domain name such as mail.example.org.",
    from_time: "Enter a time such as 22:00.",
    to_time: "Enter a time such as 04:00.",
    country: "Enter a country code such as TR.",
    code: "Enter the six digits of your app, such as 492039.",
  } as Readonly<Record<string, string | undefined>>,
};
