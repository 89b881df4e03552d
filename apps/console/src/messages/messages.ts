import { en } from "./en.ts";
import { tr } from "./tr.ts";

/** All texts of the console. A language with a missing or extra message does not compile. */
export type Messages = typeof en;

export const languages = ["en", "tr"] as const;
export type Language = (typeof languages)[number];

const messages: Readonly<Record<Language, Messages>> = { en, tr };

export function messagesOf(language: Language): Messages {
  return messages[language];
}

/** The languages by their own names, for the switch. */
export const languageNames: Readonly<Record<Language, string>> = { en: "English", tr: "Türkçe" };

export function isLanguage(value: string | undefined): value is Language {
  return languages.some((language) => language === value);
}

/**
 * The language for a browser: the chosen one, else the first supported one of Accept-Language (by weight), else
 * English.
 */
export function chooseLanguage(chosen: string | undefined, acceptLanguage: string | undefined): Language {
  if (isLanguage(chosen)) return chosen;
  const wanted = (acceptLanguage ?? "")
    .split(",")
    .map((part) => {
      const [tag = "", ...parameters] = part.trim().split(";");
      const weight = parameters.map((parameter) => /^\s*q=([\d.]+)$/.exec(parameter)?.[1]).find(Boolean);
      return { language: tag.split("-")[0]?.toLowerCase(), weight: Number(weight ?? 1) };
    })
    .filter(({ weight }) => weight > 0)
    .sort((a, b) => b.weight - a.weight);
  for (const { language } of wanted) if (isLanguage(language)) return language;
  return "en";
}
