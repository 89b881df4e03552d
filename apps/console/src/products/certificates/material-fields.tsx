import { type FieldProblems, TextField } from "../../layout/fields.tsx";
import type { View } from "../../layout/view.ts";

const longestPem = 131_072;
const longestKey = 65_536;

type Props = {
  readonly view: View;
  /** What was typed of the certificate and the chain; never the key. */
  readonly values: Readonly<Record<string, string>>;
  readonly problems: FieldProblems;
  readonly required?: boolean;
};

/** A certificate, its chain and its private key, in PEM. The key is never in a page: it is pasted again after an error. */
export function MaterialFields({ view, values, problems, required = false }: Props) {
  const text = view.messages.certificates.material;
  const pem = { wrap: "off", placeholder: "-----BEGIN CERTIFICATE-----" };
  return (
    <>
      <TextField
        view={view}
        name="certificate"
        label={text.certificate}
        value={values.certificate ?? ""}
        hint={text.certificateHint}
        problems={problems}
        required={required}
        mono
        rows={6}
        maxlength={longestPem}
        attributes={pem}
      />
      <TextField
        view={view}
        name="chain"
        label={text.chain}
        value={values.chain ?? ""}
        hint={text.chainHint}
        problems={problems}
        optional
        mono
        rows={6}
        maxlength={longestPem}
        attributes={pem}
      />
      <TextField
        view={view}
        name="private_key"
        label={text.privateKey}
        hint={text.privateKeyHint}
        problems={problems}
        required={required}
        mono
        rows={6}
        maxlength={longestKey}
        attributes={{ wrap: "off", placeholder: "-----BEGIN PRIVATE KEY-----", "data-secret": "true" }}
      />
    </>
  );
}
