import { formTokenField } from "../csrf.ts";
import { languageNames, languages } from "../messages/messages.ts";
import { Icon } from "./icons.tsx";
import { themes, type View } from "./view.ts";

const themeIcons = { light: "sun", dark: "moon", system: "screen" } as const;

/** Theme and language, one button for each. */
export function Preferences({ view }: { readonly view: View }) {
  const { messages } = view;
  return (
    <form class="preferences" method="post" action="/preferences">
      <input type="hidden" name={formTokenField} value={view.formToken()} />
      <input type="hidden" name="return_to" value={view.path} />
      <fieldset class="segments">
        <legend class="visually-hidden">{messages.preferences.theme}</legend>
        {themes.map((theme) => (
          <button
            type="submit"
            name="theme"
            value={theme}
            aria-pressed={view.theme === theme ? "true" : "false"}
            aria-label={messages.preferences[theme]}
            title={messages.preferences[theme]}
          >
            <Icon name={themeIcons[theme]} size={16} />
          </button>
        ))}
      </fieldset>
      <fieldset class="segments">
        <legend class="visually-hidden">{messages.preferences.language}</legend>
        {languages.map((language) => (
          <button
            type="submit"
            name="language"
            value={language}
            lang={language}
            aria-pressed={view.language === language ? "true" : "false"}
          >
            {languageNames[language]}
          </button>
        ))}
      </fieldset>
    </form>
  );
}
