// The state of one machine as its guest takes it: the rendered files and the certificates, whose keys are opened here and
// nowhere else. They are files of the bundle, never an argument, a line of a log or the text of a step.

import type { PayloadOf, Schemas } from "@kule/contract/schemas";
import {
  certificatePath,
  type RenderedLoadBalancer,
  renderLoadBalancer,
} from "@kule/rules/load-balancers/render/render-load-balancer";
import { Failed } from "../errors.ts";
import { type Bundle, type GuestFile, renderBundle } from "../guest-state/bundle.ts";
import type { World } from "../program.ts";
import { intentOf, machineOf } from "./intent.ts";

type Payload = PayloadOf<"LoadBalancerApply">;

/** Throws Failed for a payload that cannot be rendered, and for a certificate that was not sealed to this agent. */
export function machineBundle(
  payload: Payload,
  machine: Schemas["PayloadMachine"],
  { openSecret }: Pick<World, "openSecret">,
): Bundle {
  const { files, units, validate, check, certificateIds } = rendered(payload, machine);
  const certificates = certificateIds.map((id): GuestFile => {
    const content = certificateOf(payload, id, openSecret);
    return { path: certificatePath(id), mode: 0o600, content };
  });
  return renderBundle({
    generation: payload.generation,
    files: [...files, ...certificates],
    validate,
    units,
    check,
  });
}

function rendered(payload: Payload, machine: Schemas["PayloadMachine"]): RenderedLoadBalancer {
  try {
    return renderLoadBalancer(intentOf(payload), machineOf(machine));
  } catch (cause) {
    throw new Failed(
      {
        code: "invalid_payload",
        message: "The region cannot use the job's parameters. An operator has to look at it.",
        internal: cause instanceof Error ? cause.message : "the load balancer cannot be rendered",
      },
      { cause },
    );
  }
}

/** Certificate, chain and key in PEM. */
function certificateOf(payload: Payload, id: string, openSecret: World["openSecret"]): string {
  const certificate = payload.certificates.find((each) => each.id === id);
  if (certificate === undefined) throw unreadable(`the payload does not have certificate ${id}`);
  const { chain, sealed, context } = certificate;
  try {
    return [chain, openSecret(sealed, context)].map((text) => `${text.trim()}\n`).join("");
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw unreadable(`certificate ${id} does not open with this agent's key: ${why}`);
  }
}

function unreadable(internal: string): Failed {
  return new Failed({
    code: "certificate_unreadable",
    message: "The private key of a certificate cannot be read in the region. Upload the certificate again.",
    internal,
  });
}
