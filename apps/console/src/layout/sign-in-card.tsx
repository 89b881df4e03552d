import type { Child } from "hono/jsx";
import type { PagePart } from "../assets.ts";
import { Document } from "./document.tsx";
import { Mark } from "./mark.tsx";
import { Preferences } from "./preferences.tsx";
import type { View } from "./view.ts";

/** The layout of all pages before sign-in. */
export function SignInCard(props: {
  readonly view: View;
  readonly title: string;
  /** A text of several sentences is in the card instead. */
  readonly lead?: string;
  readonly needs?: readonly PagePart[];
  /**
   * An address of another site to which the browser is redirected: such a page needs no theme and language switches.
   */
  readonly goOnTo?: string;
  readonly keepsForms?: boolean;
  readonly children?: Child;
}) {
  const { view, title, lead, needs, goOnTo, keepsForms = false, children } = props;
  return (
    <Document
      view={view}
      title={title}
      class="sign-in"
      needs={needs}
      keepsForms={keepsForms}
      {...(goOnTo === undefined ? {} : { goOnTo })}
    >
      <main id="content">
        <div class="sign-in-card">
          <div class="sign-in-brand">
            <Mark size={44} />
            <p class="sign-in-name">{view.messages.product}</p>
          </div>
          <h1>{title}</h1>
          {lead === undefined ? null : <p class="lead">{lead}</p>}
          {children}
        </div>
        {goOnTo === undefined ? <Preferences view={view} /> : null}
      </main>
      <Skyline />
    </Document>
  );
}

/** Towers on a horizon: decoration in the page's own colours. */
function Skyline() {
  return (
    <svg class="skyline" viewBox="0 0 1200 220" aria-hidden="true">
      <path
        class="far"
        d="M-3000 190H0c90-22 160-30 240-24 60-36 110-36 150 0 110-16 180-14 260 4 40-48 120-48 160 0 130-26 240-22 390 6h3000v44H-3000z"
      />
      <path class="far" d="M262 166v-70h8V82l6-22 6 22v14h8v70zM912 168v-84h8V68l6-24 6 24v16h8v84z" />
      <path class="near" d="M-3000 206H0c150-16 330-20 520-10 200-14 420-10 680 6h3000v18H-3000z" />
      <path class="near" d="M561 198V92h-6v-9h50v9h-6v106z" />
      <path class="roof" d="M580 28l22 54h-44z" />
      <path class="light" d="M573 104v14h5v-14zm10 0v14h5v-14zM573 132v14h5v-14zm10 0v14h5v-14z" />
    </svg>
  );
}
