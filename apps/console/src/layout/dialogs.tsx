import { placesOf } from "../products/search/places.ts";
import { may, type Session } from "../session.ts";
import { Icon } from "./icons.tsx";
import type { View } from "./view.ts";

/** Dialogs that the keyboard opens over any page: the palette and the list of shortcuts. Both need the script. */
export function Dialogs({ view, session }: { readonly view: View; readonly session: Session }) {
  const { messages } = view;
  const { search, shortcuts } = messages;
  const { pages } = placesOf(messages, session);
  return (
    <>
      <dialog id="palette" aria-label={search.title}>
        <form method="get" action="/search">
          <label>
            <Icon name="search" />
            <span class="visually-hidden">{search.label}</span>
            <input
              type="search"
              name="q"
              placeholder={search.placeholder}
              autocomplete="off"
              spellcheck={false}
              hx-get="/search"
              hx-trigger="palette, input changed delay:120ms"
              hx-sync="this:replace"
              hx-target="#palette-results"
              hx-swap="innerMorph"
            />
          </label>
        </form>
        <div id="palette-results" />
      </dialog>
      <dialog id="shortcuts" aria-labelledby="shortcuts-title">
        <div class="dialog-head">
          <h2 id="shortcuts-title">{shortcuts.title}</h2>
          <button type="button" class="button" data-close-dialog="">
            {search.close}
          </button>
        </div>
        <dl class="shortcut-list">
          <Shortcut keys={["Ctrl K", "⌘ K"]} text={shortcuts.palette} />
          <Shortcut keys={["/"]} text={shortcuts.filter} />
          {may(session, "server:create") ? (
            <div>
              <dt>
                <kbd>c</kbd>
              </dt>
              <dd>
                <a href="/servers/new" data-key-alone="c">
                  {shortcuts.create}
                </a>
              </dd>
            </div>
          ) : null}
          {pages.map(({ title, path, key }) =>
            key === undefined ? null : (
              <div>
                <dt>
                  <kbd>g</kbd> <small>{shortcuts.after}</small> <kbd>{key}</kbd>
                </dt>
                <dd>
                  <a href={path} data-key={key}>
                    {title}
                  </a>
                </dd>
              </div>
            ),
          )}
          <Shortcut keys={["?"]} text={shortcuts.help} />
        </dl>
      </dialog>
    </>
  );
}

function Shortcut({ keys, text }: { readonly keys: readonly string[]; readonly text: string }) {
  return (
    <div>
      <dt>
        {keys.map((key, index) => (
          <>
            {index === 0 ? null : " / "}
            <kbd>{key}</kbd>
          </>
        ))}
      </dt>
      <dd>{text}</dd>
    </div>
  );
}
