import type { ApiRequest } from "../../platform/api-request.ts";
import type { Api } from "../../platform/deps.ts";
import { operation } from "../../platform/operation.ts";
import { reply } from "../../platform/reply.ts";
import { BoundedLooks } from "./bounded-looks.ts";
import { checkCreateCertificate, createCertificate } from "./create-certificate.ts";
import { deleteCertificate } from "./delete-certificate.ts";
import { getCertificateChallenges } from "./get-certificate-challenges.ts";
import { type CertificateHooks, usesOf } from "./hooks.ts";
import { renewCertificate } from "./renew-certificate.ts";
import {
  checkReplaceCertificateMaterial,
  replaceCertificateMaterial,
} from "./replace-certificate-material.ts";
import { findCertificate, listCertificates } from "./store.ts";
import { checkUpdateCertificate, updateCertificate } from "./update-certificate.ts";
import { viewCertificate } from "./view.ts";
import type { WhereNamesLead } from "./where-names-lead.ts";

export function mountCertificates(api: Api, hooks: readonly CertificateHooks[]): void {
  const find = (request: ApiRequest) =>
    findCertificate(request.db, request.organisationId, request.pathId("certificate_id", "cert"));
  // Of this process: its replicas each have their own.
  const looks = new BoundedLooks<WhereNamesLead>();

  operation(api, "listCertificates", {
    handle: async (request) => {
      const page = await listCertificates(request.db, request.organisationId, request.query);
      const ids = page.rows.map(({ id }) => id);
      const uses = await usesOf(hooks, request.db, request.organisationId, ids);
      const items = page.rows.map((row) => viewCertificate(row, uses.get(row.id)));
      return reply(200, { items, next_cursor: page.nextCursor });
    },
  });
  operation(api, "createCertificate", { check: checkCreateCertificate, mutate: createCertificate });
  operation(api, "renewCertificate", {
    find,
    mutate: (request, tx, row) => renewCertificate(request, tx, row, hooks),
  });
  operation(api, "getCertificateChallenges", {
    find,
    handle: (request, row) => getCertificateChallenges(request, row, hooks, looks),
  });
  operation(api, "getCertificate", {
    find,
    handle: async (request, row) => {
      const uses = await usesOf(hooks, request.db, request.organisationId, [row.id]);
      return reply(200, viewCertificate(row, uses.get(row.id)));
    },
  });
  operation(api, "updateCertificate", {
    find,
    check: checkUpdateCertificate,
    mutate: (request, tx, row) => updateCertificate(request, tx, row, hooks),
  });
  operation(api, "deleteCertificate", {
    find,
    mutate: (request, tx, row) => deleteCertificate(request, tx, row, hooks),
  });
  operation(api, "replaceCertificateMaterial", {
    find,
    check: checkReplaceCertificateMaterial,
    mutate: (request, tx, row) => replaceCertificateMaterial(request, tx, row, hooks),
  });
}
