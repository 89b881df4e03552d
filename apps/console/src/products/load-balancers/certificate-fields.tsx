import type { Schemas } from "@kule/contract/schemas";
import { type FieldProblems, Problem } from "../../layout/fields.tsx";
import type { View } from "../../layout/view.ts";
import { typedList } from "../../posted-form.ts";
import { may } from "../../session.ts";
import { certificateChoices } from "./certificate-choices.ts";

/** Certificates of the region for a listener: those that it has already, in their order, then those that can be used. */
export function CertificateFields(props: {
  readonly view: View;
  /** The identifiers of those that are chosen. */
  readonly value: string;
  readonly certificates: readonly Schemas["Certificate"][];
  readonly region: string | undefined;
  readonly problems: FieldProblems;
}) {
  const { view, value, certificates, region, problems } = props;
  const { messages, session } = view;
  const text = messages.loadBalancers.listener;
  const chosen = typedList(value);
  const choices = certificateChoices(certificates, region, chosen);
  return (
    <fieldset class="field" id="listener-certificates">
      <legend>{text.certificates}</legend>
      <Problem name="certificate_ids" problems={problems.certificate_ids} />
      <p class="hint">{choices.length === 0 ? text.noCertificates : text.certificatesHint}</p>
      {choices.length === 0 ? null : (
        <div class="checks server-checks">
          {choices.map(({ id, label }) => (
            <label class="check">
              <input
                type="checkbox"
                id={`certificate-${id}`}
                name="certificate_ids"
                value={id}
                checked={chosen.includes(id)}
              />
              <span class="anywhere">{label}</span>
            </label>
          ))}
        </div>
      )}
      {choices.length === 0 && (session === null || may(session, "certificate:create")) ? (
        <p>
          <a href="/certificates/new">{messages.certificates.create}</a>
        </p>
      ) : null}
    </fieldset>
  );
}
