import type { Schemas } from "@kule/contract/schemas";
import { readAll } from "../../api.ts";
import type { ConsoleContext } from "../../console-context.ts";
import { may } from "../../session.ts";

type Certificate = Pick<Schemas["Certificate"], "id" | "name" | "region" | "status" | "domain_names">;

/** A certificate may have a hundred names. */
const namesShown = 3;

/** All certificates that the role may read, by their names. */
export async function readCertificates(context: ConsoleContext): Promise<readonly Schemas["Certificate"][]> {
  const { session } = context.get("view");
  if (session !== null && !may(session, "certificate:read")) return [];
  const { items } = await readAll((page) =>
    context.get("api").GET("/certificates", { params: { query: { ...page, sort: "name" } } }),
  );
  return items;
}

/**
 * What a listener can choose from: those that it has already, in their order and whatever their state, then those of the
 * region that can be used.
 */
export function certificateChoices(
  certificates: readonly Certificate[],
  region: string | undefined,
  chosen: readonly string[],
): readonly { readonly id: string; readonly label: string }[] {
  const usable = certificates.filter(
    ({ id, region: place, status }) =>
      place === region && (status === "active" || status === "renewing") && !chosen.includes(id),
  );
  return [
    ...chosen.map((id) => {
      const known = certificates.find((each) => each.id === id);
      return { id, label: known === undefined ? id : labelOf(known) };
    }),
    ...usable.map((each) => ({ id: each.id, label: labelOf(each) })),
  ];
}

function labelOf({ name, domain_names }: Certificate): string {
  const names = domain_names.slice(0, namesShown).join(", ");
  return `${name} · ${names}${domain_names.length > namesShown ? ", …" : ""}`;
}
