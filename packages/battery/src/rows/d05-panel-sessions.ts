import { randomUUID } from "node:crypto";
import { addMember } from "@kule/api/testing/add-member";
import { RegionScene } from "../job-kinds/region-scene.ts";
import { newSubject } from "../job-kinds/scene.ts";
import { sessionCases } from "../panel-sessions/session-cases.ts";
import type { Row } from "../row.ts";

const rounds = { sample: 1, full: 5 } as const;

export const row: Row = {
  id: "D5",
  title:
    "A session of the panel is bound to its host, is not readable by scripts, and ends with sign-out, a new password, another organisation and its time, for copies too",
  minutes: 1,
  mutants: [
    {
      name: "scripts-may-read",
      removes: "HttpOnly",
      patches: [
        {
          file: "apps/console/src/session.ts",
          find: "const protection: CookieOptions = { httpOnly: true,",
          replace: "const protection: CookieOptions = { httpOnly: false,",
        },
      ],
      expects: /the cookie __Host-kule_session is not HttpOnly/,
    },
    {
      name: "any-host-may-set",
      removes: "the prefix that binds a cookie to its host",
      patches: [
        {
          file: "apps/console/src/session.ts",
          find: "const named = (name: string) => (secure ? ",
          replace: "const named = (name: string) => (secure && name === null ? ",
        },
      ],
      expects: /the cookie kule_\w+ is not bound to its host|a session's cookie says/,
    },
    {
      name: "sign-out-of-the-browser-alone",
      removes: "the end of the API's session with the sign-out",
      patches: [
        {
          file: "apps/console/src/products/sign-in/routes.tsx",
          find: "if (session !== null)\n      // The cookie is deleted",
          replace: "if (session === undefined)\n      // The cookie is deleted",
        },
      ],
      expects: /a copy of a cookie whose owner has signed out still opens/,
    },
    {
      name: "password-changed-for-oneself",
      removes: "the end of other sessions with a changed password",
      patches: [
        {
          file: "apps/api/src/products/account/change-password.ts",
          find: "const revoked = await revokeSessionsOfUser(tx, id, sessionId);",
          replace: "const revoked = 0;",
        },
      ],
      expects: /a second browser's session, after the password was changed, still opens/,
    },
    {
      name: "switch-leaves-the-old",
      removes: "the end of the session that was switched away from",
      patches: [
        {
          file: "apps/api/src/products/sign-in/switch-organisation.ts",
          find: "      await revokeTokenRow(tx, tokenId);\n",
          replace: "",
        },
      ],
      expects: /from before a switch of organisations still opens/,
    },
    {
      name: "never-idle",
      removes: "the end of an idle session",
      patches: [
        {
          file: "apps/api/src/platform/caller.ts",
          find: "coalesce(token.last_used_at, token.created_at) + make_interval(secs => token.idle_seconds))`;",
          replace: "token.expires_at)`;",
        },
      ],
      expects: /nobody has used for two hours still opens/,
    },
  ],
  run: (run) =>
    RegionScene.use({}, async (scene) => {
      // As browsers reach it through a proxy that ends TLS.
      const { url } = await scene.world.startPanel({ KULE_CONSOLE_SECURE_COOKIES: "true" });
      const { api } = await newSubject(scene);
      const addPerson = async () => {
        const email = `${randomUUID()}@example.org`;
        const { password } = await addMember(api, { email, name: "Ada", role: "owner" });
        return { email, password };
      };
      const violations: string[] = [];
      let tried = 0;
      for (let round = 0; round < rounds[run.scale]; round += 1)
        for (const each of sessionCases) {
          tried += 1;
          violations.push(...(await each({ scene, url, addPerson })));
          run.progress(
            `${tried} of ${sessionCases.length * rounds[run.scale]}, ${violations.length} violations`,
          );
        }
      return { cases: tried, violations: [...new Set(violations)] };
    }),
};
