import { Icon } from "./icons.tsx";
import type { View } from "./view.ts";

/** Top left: the organisation in which this page acts, as a link to the page that switches to another one. */
export function OrganisationLink({ view, isHere }: { readonly view: View; readonly isHere: boolean }) {
  const { messages, session } = view;
  if (session === null) return null;
  const { organisation: text } = messages;
  const { organisation } = session;
  return (
    <a
      class="organisation"
      href={session.operator ? "/organisations" : "/switch-organisation"}
      aria-current={isHere ? "page" : undefined}
      title={organisation?.name}
    >
      <Icon name="organisation" />
      {organisation === null ? (
        <span>{text.choose}</span>
      ) : (
        <>
          <span class="visually-hidden">{text.switch}: </span>
          <span class="organisation-name">{organisation.name}</span>
          <Icon name="updown" size={16} />
        </>
      )}
    </a>
  );
}
