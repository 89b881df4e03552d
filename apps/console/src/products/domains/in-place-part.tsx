import type { Child } from "hono/jsx";

/** A link to the records with another form open: with a script only they are rendered again. */
export function InPlaceLink(props: {
  readonly address: string;
  readonly kind?: "primary";
  readonly label?: string;
  readonly children?: Child;
}) {
  const { address, kind, label, children } = props;
  return (
    <a
      class="button"
      data-kind={kind}
      href={`${address}#record`}
      aria-label={label}
      hx-get={address}
      hx-target="#records"
      hx-select="#records"
      hx-swap="outerMorph"
      hx-replace-url="true"
    >
      {children}
    </a>
  );
}
