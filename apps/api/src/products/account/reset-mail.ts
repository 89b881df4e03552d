import type { MailLanguage } from "./password-reset-store.ts";

export type MailText = { readonly subject: string; readonly text: string; readonly html: string };

type Words = {
  readonly subject: string;
  readonly asked: (panel: string) => string;
  readonly open: string;
  readonly button: string;
  readonly until: (time: string) => string;
  readonly once: string;
  readonly notYou: string;
};

const words: { readonly [language in MailLanguage]: Words } = {
  en: {
    subject: "Set a new password",
    asked: (panel) => `Somebody asked for a new password for your account at ${panel}.`,
    open: "To set it, open this link:",
    button: "Set a new password",
    until: (time) => `It works until ${time}.`,
    once: "It works once. Links that were sent before work no more.",
    notYou: "If you did not ask for it, ignore this mail: your password stays as it is.",
  },
  tr: {
    subject: "Yeni parola belirleyin",
    asked: (panel) => `${panel} adresindeki hesabınız için yeni bir parola istendi.`,
    open: "Belirlemek için şu bağlantıyı açın:",
    button: "Yeni parola belirle",
    until: (time) => `Bağlantı şu zamana kadar geçerlidir: ${time}.`,
    once: "Bağlantı bir kez çalışır. Önceden gönderilen bağlantılar artık çalışmaz.",
    notYou: "Bunu siz istemediyseniz bu iletiyi dikkate almayın: parolanız değişmez.",
  },
};

const locales: { readonly [language in MailLanguage]: string } = { en: "en-GB", tr: "tr-TR" };

/**
 * The mail with the link. It contains no text that a user chose, such as a name: strangers must not be able
 * to send words of their own in an installation's mail.
 *
 * @param panelUrl where the panel is, by the configuration
 */
export function resetMail(
  language: MailLanguage,
  { panelUrl, secret, expiresAt }: { panelUrl: string; secret: string; expiresAt: Date },
): MailText {
  const say = words[language];
  const link = `${panelUrl}/reset-password?secret=${encodeURIComponent(secret)}`;
  const time = expiresAt.toLocaleString(locales[language], {
    dateStyle: "long",
    timeStyle: "short",
    timeZone: "UTC",
  });
  const [asked, until] = [say.asked(panelUrl), say.until(`${time} UTC`)];
  const text = `${asked}\n\n${say.open}\n${link}\n\n${until} ${say.once}\n\n${say.notYou}\n`;
  const paragraph = (line: string) => `<p>${line}</p>`;
  const html = `<!doctype html>
<html lang="${language}">
<body style="font-family: sans-serif; line-height: 1.5">
${paragraph(escaped(asked))}
${paragraph(`<a href="${escaped(link)}">${escaped(say.button)}</a>`)}
${paragraph(escaped(`${until} ${say.once}`))}
${paragraph(escaped(say.notYou))}
</body>
</html>
`;
  return { subject: say.subject, text, html };
}

function escaped(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
