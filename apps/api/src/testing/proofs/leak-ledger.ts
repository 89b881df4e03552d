import type { Actor } from "./matrix-actors.ts";
import { type RawAnswer, withoutOwnAttempts } from "./operation-call.ts";

const identifiers = /\b(?:org|usr|mem|tok|key|net|sub|srv|nic|job|use|aud)_[0-9a-hjkmnp-tv-z]{26}\b/g;

type Sighting = { readonly actor: Actor; readonly where: string; readonly ids: readonly string[] };

/**
 * Records which identifiers each organisation was shown. An identifier that both were shown, or that occurred
 * in a refusal, has leaked; whatever the operation, the field or the header.
 */
export class LeakLedger {
  readonly #sightings: Sighting[] = [];
  readonly #marks: string[] = [];

  /** @param sent what the request itself carried; a refusal may repeat it */
  note(actor: Actor, where: string, answer: RawAnswer, sent: readonly string[]): void {
    const headers = [...answer.headers].filter(([name]) => name !== "x-request-id");
    let text = `${withoutOwnAttempts(answer).text} ${JSON.stringify(headers)}`;
    for (const own of sent) if (own !== "") text = text.replaceAll(own, "");
    const found = new Set(text.match(identifiers) ?? []);
    if (answer.status < 300) this.#sightings.push({ actor, where, ids: [...found] });
    else this.#sightings.push({ actor, where: `${where} (${answer.status})`, ids: [...found] });
    const mark = actor.other.tenant.mark;
    if (actor.kind !== "operator" && text.includes(`${mark}-`))
      this.#marks.push(`${where}: ${actor.name} read the name of something of ${actor.other.tenant.slug}`);
  }

  leaks(): string[] {
    const shownTo = new Map<string, Set<string>>();
    for (const { actor, ids } of this.#sightings) {
      if (actor.kind !== "organisation") continue;
      for (const id of ids) shownTo.set(id, (shownTo.get(id) ?? new Set()).add(actor.side.tenant.id));
    }
    const leaks = [...this.#marks];
    for (const { actor, where, ids } of this.#sightings)
      for (const id of ids) {
        const owners = shownTo.get(id);
        const isTheirs =
          actor.kind === "operator" ||
          (owners === undefined
            ? actor.kind !== "nobody"
            : owners.size === 1 && owners.has(actor.side.tenant.id) && actor.kind !== "nobody");
        if (!isTheirs) leaks.push(`${where}: ${actor.name} was shown ${id}`);
      }
    return leaks;
  }
}
