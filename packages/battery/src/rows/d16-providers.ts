import { mutantsIn } from "../mutants-in.ts";
import type { Mutant, Row } from "../row.ts";
import { providerCases } from "../sign-in/provider-cases.ts";
import { ProviderWorld } from "../sign-in/provider-world.ts";
import { runSignInCases } from "../sign-in/run-cases.ts";

const without = mutantsIn("apps/api/src/products");

const client = "apps/api/src/products/account/oidc-client.ts";
const noSignature = {
  file: client,
  find: "  oidc.enableNonRepudiationChecks(configuration);\n",
  replace: "",
};

/**
 * The library checks these claims, and cannot be configured not to: the token is rewritten to the expected
 * claims, and the signature, which that breaks, is not checked.
 */
const claimNotHeld = (
  name: string,
  removes: string,
  claim: string,
  wanted: string,
  expects: RegExp,
): Mutant => ({
  name,
  removes,
  patches: [
    noSignature,
    {
      file: client,
      find: "    const tokens = await oidc.authorizationCodeGrant(configuration, place, {",
      replace: `    configuration[oidc.customFetch] = async (url, options) => {
      const answer = await fetch(url, options as RequestInit);
      const text = await answer.text();
      const said = JSON.parse(text);
      if (typeof said.id_token !== "string") return new Response(text, answer);
      const [head, body, signature] = said.id_token.split(".");
      const claims = JSON.parse(Buffer.from(body, "base64url").toString());
      claims.${claim} = ${wanted};
      said.id_token = [head, Buffer.from(JSON.stringify(claims)).toString("base64url"), signature].join(".");
      return new Response(JSON.stringify(said), { status: answer.status, headers: answer.headers });
    };
    const tokens = await oidc.authorizationCodeGrant(configuration, place, {`,
    },
  ],
  expects,
});

export const row: Row = {
  id: "D16",
  title:
    "A sign-in provider opens one session, for the person that it identifies, in the sign-in that was begun, and nothing else",
  minutes: 1,
  mutants: [
    {
      name: "any-state",
      removes: "the comparison of the state",
      patches: [
        {
          file: "apps/api/src/products/account/oidc-flow.ts",
          find: '  if (new URLSearchParams(answer.response).get("state") !== flow.state) throw doesNotHold();\n',
          replace: "",
        },
        {
          file: client,
          find: "expectedState: secrets.state,",
          replace: 'expectedState: place.searchParams.get("state") ?? "",',
        },
      ],
      expects: /state .*has opened a session/,
    },
    claimNotHeld(
      "any-nonce",
      "the comparison of the nonce",
      "nonce",
      "secrets.nonce",
      /with another nonce has opened a session/,
    ),
    claimNotHeld(
      "any-audience",
      "the look at whom an ID token is for",
      "aud",
      "provider.clientId",
      /\(audience\) has opened a session/,
    ),
    claimNotHeld(
      "any-time",
      "the end of an ID token",
      "exp",
      "Math.floor(Date.now() / 1000) + 60",
      /that has expired has opened a session/,
    ),
    {
      name: "any-signature",
      removes: "the check of an ID token's signature",
      patches: [noSignature],
      expects: /signed by somebody else has opened a session/,
    },
    without(
      "any-issuer",
      "the comparison of the issuer that an answer names",
      "account/oidc-client.ts",
      "  place.search = response;\n",
      '  place.search = response;\n  place.searchParams.set("iss", provider.issuer.replace(/\\/$/, ""));\n',
      /in the name of another issuer has opened a session/,
    ),
    without(
      "one-verifier",
      "the PKCE verifier of each sign-in",
      "account/oidc-client.ts",
      "verifier: oidc.randomPKCECodeVerifier(),",
      'verifier: "x".repeat(43),',
      /two sign-ins have the same code_challenge/,
    ),
    without(
      "verifier-not-said",
      "the PKCE verifier with the code",
      "account/oidc-client.ts",
      "pkceCodeVerifier: secrets.verifier,",
      'pkceCodeVerifier: "x".repeat(43),',
      /a right link to the real provider is answered/,
    ),
    without(
      "used-again",
      "the note of a way that was used",
      "account/oidc-flow.ts",
      "if (!(await spendChallenge(db, flow.state))) throw doesNotHold();",
      "void spendChallenge;",
      /was brought to it \d times/,
    ),
    without(
      "anybodys-way",
      "the person and the session that a way belongs to",
      "account/oidc-flow.ts",
      // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the source
      "`oidc ${purpose.of} ${purpose.userId} ${purpose.sessionId}`;",
      // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the source
      "`oidc ${purpose.of}`;",
      /that one person began has linked an account to another/,
    ),
    without(
      "any-purpose",
      "what a way was begun for",
      "account/oidc-flow.ts",
      'purpose.of === "login" ? "oidc login" :',
      'purpose.of !== undefined ? "oidc login" :',
      /a way to (sign in has linked|prove something has opened)/,
    ),
    {
      name: "links-without-proof",
      removes: "the proof of a session that links an account",
      patches: [
        {
          file: "apps/api/src/products/account/link-identity.ts",
          find: "  await requireProofNow(request);\n",
          replace: "",
        },
        {
          file: "apps/api/src/products/account/link-identity.ts",
          find: "      await requireProof(request, tx);\n",
          replace: "",
        },
      ],
      expects: /linked by a session that has not proven itself/,
    },
    without(
      "link-begun-without-proof",
      "the proof of a session that begins to link",
      "account/begin-identity.ts",
      'if (purpose === "link") await requireProofNow(request);',
      "void requireProofNow;",
      /begun by a session that has not proven itself/,
    ),
    without(
      "anybodys-proof",
      "the look at whose account proves a person",
      "account/prove-identity.ts",
      "if (identity?.user_id !== userId || !isAnew) throw notProven();",
      "if (identity === null || !isAnew) throw notProven();",
      /somebody else's account has proven/,
    ),
    without(
      "remembered-proof",
      "the look at when a provider has asked a person",
      "account/prove-identity.ts",
      "if (identity?.user_id !== userId || !isAnew) throw notProven();",
      "if (identity?.user_id !== userId || isAnew === null) throw notProven();",
      /only remembers a person has proven/,
    ),
    without(
      "subject-of-any-issuer",
      "the issuer that a person is known by",
      "account/identity-store.ts",
      '    .where("issuer", "=", issuer)\n',
      '    .where("issuer", "!=", issuer.toUpperCase())\n',
      /the same name at another house has opened a session/,
    ),
    {
      name: "any-domain-once-known",
      removes: "the limit of domains for known people",
      patches: [
        {
          file: "packages/rules/src/identity/oidc.ts",
          find: "if (isKnown && rules.emailDomains === null) return null;",
          replace: "if (isKnown) return null;",
        },
      ],
      expects: /of another domain has signed in/,
    },
    {
      name: "any-email",
      removes: "the check that an e-mail is verified",
      patches: [
        {
          file: "packages/rules/src/identity/oidc.ts",
          find: 'if (claims.email === null || !claims.emailVerified) return "email_verified";',
          replace: 'if (claims.email === null) return "email_verified";',
        },
      ],
      expects: /nobody has verified has taken an invitation/,
    },
    without(
      "provider-is-enough",
      "the second factor behind a provider",
      "sign-in/login-with-oidc.ts",
      "const isAsked = hasSecondFactor(factors) && !providerAskedForSecondFactor(person, provider);",
      "const isAsked = hasSecondFactor(factors) && providerAskedForSecondFactor(person, provider);",
      /a provider's word was enough/,
    ),
    {
      name: "any-provider-is-trusted",
      removes: "the operators' setting of providers trusted with second factors",
      patches: [
        {
          file: "packages/rules/src/identity/oidc.ts",
          find: "if (rules.secondFactor === null) return false;",
          replace: "if (rules.secondFactor === null) return claims.amr.length > 0;",
        },
      ],
      expects: /not trusted with second factors was believed/,
    },
  ],
  run: (row) => runSignInCases(ProviderWorld.open, providerCases, row),
};
