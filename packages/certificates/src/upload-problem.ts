/** The field of an upload, as a JSON pointer into the request's body. */
export type UploadField = "/certificate" | "/chain" | "/private_key";

/** Stable: clients and texts of the panel hang on these. */
export type UploadProblemCode =
  | "too_large"
  | "too_many_certificates"
  | "no_pem"
  | "broken_pem"
  | "unexpected_pem"
  | "key_in_certificate"
  | "unreadable_certificate"
  | "several_leaves"
  | "is_ca"
  | "no_names"
  | "invalid_name"
  | "too_many_names"
  | "not_for_servers"
  | "expired"
  | "not_yet_valid"
  | "weak_signature"
  | "weak_key"
  | "unsupported_key"
  | "chain_does_not_belong"
  | "chain_ambiguous"
  | "key_encrypted"
  | "several_keys"
  | "unreadable_key"
  | "key_mismatch";

/** Why an upload is refused. Neither the text nor anything else here holds a part of the private key. */
export interface UploadProblem {
  readonly field: UploadField;
  readonly code: UploadProblemCode;
  /** One or two sentences for the user: what is wrong and what to do. */
  readonly text: string;
}

/** What is accepted and should be known. */
export interface UploadWarning {
  readonly field: UploadField;
  readonly code: "chain_incomplete" | "chain_reordered";
  readonly text: string;
}
