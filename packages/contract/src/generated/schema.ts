// Generated from docs/api/openapi.yaml by packages/contract/scripts/generate.ts. Do not edit.
export interface paths {
    "/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Where things are */
        get: operations["getApiIndex"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** This contract as JSON */
        get: operations["getOpenapi"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/docs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** This reference as a page, with calls to try */
        get: operations["getReference"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/docs/reference.js": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The reference page's script */
        get: operations["getReferenceScript"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/docs/reference.css": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The reference page's style */
        get: operations["getReferenceStyle"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/healthz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The process is alive */
        get: operations["getHealth"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/readyz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The process can serve (the database answers and is migrated)
         * @description 503 names in `detail` what keeps this process from serving. 200 means that it serves; `missing` then names what
         *     else the installation lacks. Without a worker, requests are answered and regions continue their jobs, but the
         *     control plane's own tasks do not run: expiry of leases and of removal buffers, clean-up.
         */
        get: operations["getReadiness"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/login": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Open a session with e-mail and password
         * @description Answers a session token (`kule_ses_…`), valid for 12 hours and used like any token. An unknown e-mail and a
         *     wrong password answer the same, after the same time. A user of several organisations may name one;
         *     otherwise the one that they used last is chosen. Ten failures in a quarter of an hour for one e-mail or one address
         *     answer 429.
         */
        post: operations["login"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/second-factor": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Finish a sign-in that needs a second factor
         * @description Takes what `POST /auth/login` answered with 202 and exactly one of a code of the authenticator app, which works
         *     once, and a recovery code, which is used up. A wrong one is 422 `incorrect`; ten in a quarter of an hour answer
         *     429. A sign-in lasts for five minutes and can do nothing else.
         */
        post: operations["completeLogin"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/passkey-options": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Begin to sign in with a passkey
         * @description Answers the options for the browser's `navigator.credentials.get`, with a challenge that may be answered
         *     once, within five minutes. With a `sign_in` it is the second step of that sign-in; without one the passkey
         *     identifies the person, and the answer does not show who has passkeys.
         */
        post: operations["beginPasskeyLogin"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/passkey": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Sign in with a passkey
         * @description Takes the browser's answer to the options. A passkey verifies the user (finger, face or PIN), so no second factor
         *     is needed.
         */
        post: operations["loginWithPasskey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/oidc/providers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The sign-in providers
         * @description The OpenID Connect providers of the installation, as its operators have set them up.
         */
        get: operations["listOidcProviders"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/oidc/authorization": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Begin to sign in with a provider
         * @description Answers where to send the browser (authorization code with PKCE, `state` and `nonce`), and a `flow` that only
         *     this browser may hold: with it, and what the provider sends the browser back with, `POST /auth/oidc` opens the
         *     session. It lasts for ten minutes and works once. With the secret of an invitation a new person joins by it, without
         *     a password.
         */
        post: operations["beginOidcLogin"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/oidc": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Sign in with what a provider has answered
         * @description Takes the flow and the query that the provider sent the browser back with. The person is known by the provider's
         *     issuer and subject, never by an e-mail alone: an account with the same e-mail is not opened (409), its person
         *     signs in to it and links the provider there. The reason is in `precondition.name`:
         *     `provider_agreed`, `email_verified`, `email_domain_allowed`, `not_yet_an_account`, `invited`. An answer that does
         *     not hold, or came too late or a second time, is 401; a provider that does not answer is 503.
         */
        post: operations["loginWithOidc"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/password-reset": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Have a link for a lost password mailed
         * @description Answers 202 whether or not there is an account with this e-mail, and does the same work for both. An account with a
         *     password gets a mail with a link that sets another one (`POST /auth/password-reset/confirm`): it works once, within
         *     an hour of being sent, and ends the links before it. A mail server that is away is tried again for a day.
         *     For one e-mail 3 requests an hour are taken, from one address 20; what is beyond answers 429. An installation
         *     without a mail server answers 409 `not_configured`: its operator creates links.
         */
        post: operations["requestPasswordReset"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/password-reset/confirm": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Set a new password with the secret of a mailed link, or of one that an operator has created
         * @description Works once. Every session of the person ends, and none is opened: sign in with the new password, and with the second
         *     factor where there is one. Tokens stay valid unless `end_tokens` is true. Every invalid secret (invented, used,
         *     replaced or expired) answers the same 422.
         */
        post: operations["confirmPasswordReset"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/logout": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Close the session whose token this call carries */
        post: operations["logout"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/me": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The identity and the permissions of this token */
        get: operations["getMe"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/invitation": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * What an invitation is to, by its secret
         * @description The answer does not show whether the e-mail has an account. A secret that was never issued, was used or
         *     withdrawn, or has expired answers 422 `not_found`.
         */
        post: operations["readInvitation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/invitation/accept": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Join an organisation by an invitation's secret
         * @description For a person who is new to the installation `name` and `password` become theirs. A person who has an account
         *     gives its password, and `name` is ignored; a wrong password answers 401 as a login would, and counts as one.
         *     It opens no session: log in next. Whoever has a session joins by `POST /me/organisations`.
         */
        post: operations["acceptInvitation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/switch-organisation": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Change the organisation of the session whose token this call carries
         * @description Answers a successor of the session, with the same end, for another organisation of its user. The old token is
         *     refused from now on, and consoles that were opened by it end. Only for sessions (409 for other tokens).
         */
        post: operations["switchOrganisation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/me/organisations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The organisations that the caller belongs to
         * @description Of a session: all organisations of its user, by name. Any other token knows only its own.
         */
        get: operations["listMyOrganisations"];
        put?: never;
        /**
         * Join another organisation by an invitation's secret
         * @description For a session whose user has the e-mail that was invited; another one answers 409. The session stays in its
         *     organisation: `POST /auth/switch-organisation` changes that.
         */
        post: operations["joinOrganisation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/me/organisations/{organisation_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                organisation_id: components["parameters"]["OrganisationId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Leave an organisation
         * @description Ends the caller's membership, with their sessions there, the tokens that they have minted there and what they
         *     have invited to. What they have created stays with the organisation. The last owner cannot leave
         *     (409 `last_owner`). An organisation that the caller does not belong to is 404.
         */
        delete: operations["leaveOrganisation"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/me/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Where the caller is signed in
         * @description The person's live sessions in all of their organisations, the newest first, 100 at most. Personal operations
         *     are for a session (`kule_ses_…`) only: other tokens are no person, and answer 403 naming `session`.
         */
        get: operations["listSessions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/me/sessions/{login_session_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                login_session_id: components["parameters"]["LoginSessionId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * End one of the caller's sessions
         * @description It is refused everywhere within one second. Ending the one of this call signs out.
         */
        delete: operations["revokeSession"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/me/sessions/end-others": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * End every session of the caller but this one
         * @description They are refused everywhere within one second.
         */
        post: operations["revokeOtherSessions"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/me/password": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Change the caller's password
         * @description Needs the current one, or a fresh proof (`POST /me/proof`) from who has none yet, and ends every other session of the
         *     person. A wrong current password is 422
         *     `incorrect` at `/current_password` and counts as a failed login. The new one has at least 12 characters and is
         *     not the e-mail or the name with something around it.
         *
         *     Tokens that the person has created stay valid unless `end_tokens` is true, which ends those of all
         *     organisations and the operators' ones. Memberships and invitations stay in any case.
         */
        put: operations["changePassword"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/me/security": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** How the caller signs in */
        get: operations["getSecurity"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/me/proof": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Confirm the caller's identity again
         * @description Changes to how a person signs in need a proof that is not older than ten minutes; opening the session was one.
         *     Exactly one of the fields: without a second factor the password or a linked provider, which has to authenticate
         *     the person again; otherwise a code of the second factor, a passkey or a recovery code, which is used up.
         */
        post: operations["proveIdentity"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/me/totp": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Start setting up an authenticator app
         * @description Answers the secret for the app; it is in force once a code of it was confirmed. A second call within 15
         *     minutes answers the same secret. Needs a fresh proof (`POST /me/proof`).
         */
        post: operations["beginTotp"];
        /**
         * Remove the authenticator app
         * @description Needs a fresh proof (`POST /me/proof`). Without another second factor the recovery codes are deleted too.
         */
        delete: operations["removeTotp"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/me/totp/confirm": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Finish setting up an authenticator app
         * @description Takes a code that the app shows. With the person's first second factor it answers ten recovery codes, each for
         *     one use, which are shown only here.
         */
        post: operations["confirmTotp"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/me/recovery-codes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create ten new recovery codes
         * @description The old ones become invalid. Needs a fresh proof (`POST /me/proof`) and a second factor.
         */
        post: operations["replaceRecoveryCodes"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/me/passkey-options": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Begin to register a passkey, or to prove oneself with one
         * @description Answers the options for the browser's `navigator.credentials` (WebAuthn), with a challenge that this session
         *     may answer once, within five minutes. To register one needs a fresh proof (`POST /me/proof`).
         */
        post: operations["beginPasskey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/me/passkeys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Register a passkey
         * @description Takes what the browser answered to the options. It is a second factor and opens sessions by itself. With the
         *     person's first second factor ten recovery codes are shown, only here.
         */
        post: operations["addPasskey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/me/passkeys/{passkey_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                passkey_id: components["parameters"]["PasskeyId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Remove a passkey
         * @description Needs a fresh proof (`POST /me/proof`). Without another second factor the recovery codes are deleted too.
         */
        delete: operations["removePasskey"];
        options?: never;
        head?: never;
        /** Rename a passkey */
        patch: operations["renamePasskey"];
        trace?: never;
    };
    "/me/identities/authorization": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Begin to link a provider, or to prove oneself with one
         * @description As `POST /auth/oidc/authorization`, for the person of this session alone. To link one needs a fresh proof
         *     (`POST /me/proof`). For a proof the provider has to authenticate the person again, and its answer goes to
         *     `POST /me/proof`.
         */
        post: operations["beginIdentity"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/me/identities": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Link an account at a provider
         * @description It opens sessions of the caller from now on. Needs a fresh proof (`POST /me/proof`). An account at the provider
         *     belongs to one person here (409 `sign_in_refused`, `identity_is_free`).
         */
        post: operations["linkIdentity"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/me/identities/{identity_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                identity_id: components["parameters"]["IdentityId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Unlink an account at a provider
         * @description Needs a fresh proof (`POST /me/proof`), and another way to sign in (409 `last_way_in`). The other sessions that it
         *     has opened end.
         */
        delete: operations["unlinkIdentity"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/organisation": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The caller's organisation */
        get: operations["getOrganisation"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/organisations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** All organisations of the installation (operators) */
        get: operations["listOrganisations"];
        put?: never;
        /** Create an organisation (operators) */
        post: operations["createOrganisation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/organisations/{organisation_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                organisation_id: components["parameters"]["OrganisationId"];
            };
            cookie?: never;
        };
        /** One organisation (operators) */
        get: operations["getOrganisationById"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Rename, suspend, resume or limit an organisation (operators)
         * @description A suspended organisation can read; every mutation answers 409 `organisation_suspended`.
         */
        patch: operations["updateOrganisation"];
        trace?: never;
    };
    "/organisations/{organisation_id}/quotas": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                organisation_id: components["parameters"]["OrganisationId"];
            };
            cookie?: never;
        };
        get?: never;
        /**
         * Limit what an organisation may have (operators)
         * @description Limits that are left out stay as they are, null takes one away. Lowering one below what is used takes nothing
         *     away; it only refuses what would take more.
         */
        put: operations["setQuotas"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/organisations/{organisation_id}/usage-corrections": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                organisation_id: components["parameters"]["OrganisationId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Correct a segment of usage (operators)
         * @description Appends a `usage.corrected` event that gives the segment another quantity, with a reason; what was counted before
         *     stays in the events. What is left out of `quantity` stays. If the disk still exists, the server's record is
         *     corrected too, so that later usage is right. A region that still reports another disk shows it as drift.
         */
        post: operations["correctUsage"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/members": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Who belongs to the organisation */
        get: operations["listMembers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/members/{member_id}": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                member_id: components["parameters"]["MemberId"];
            };
            cookie?: never;
        };
        /** One member */
        get: operations["getMember"];
        put?: never;
        post?: never;
        /**
         * Remove a member
         * @description Their sessions and their tokens for this organisation end with it.
         */
        delete: operations["removeMember"];
        options?: never;
        head?: never;
        /**
         * Change a member's role
         * @description The last owner cannot get a lesser role (409 `last_owner`).
         */
        patch: operations["updateMember"];
        trace?: never;
    };
    "/members/{member_id}/password-reset": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                member_id: components["parameters"]["MemberId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create a one-time secret for a member who has lost the password (operators)
         * @description The secret is in this answer and nowhere else. Whoever has it may set the person's password once, within an hour
         *     (`POST /auth/password-reset/confirm`); a second factor is still needed at the next sign-in. A new secret ends
         *     the one before. For an operator's session with a fresh proof (`POST /me/proof`); other tokens answer 409.
         */
        post: operations["createPasswordReset"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/members/{member_id}/second-factor": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                member_id: components["parameters"]["MemberId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Reset a member's lost second factor (operators)
         * @description Their authenticator app, their passkeys and their recovery codes are deleted, and all their sessions end, in every
         *     organisation: a person's account is of the whole installation, so no owner of one organisation may do this. For an
         *     operator's session with a fresh proof (`POST /me/proof`); other tokens answer 409. The person sees it at
         *     `GET /me/security`.
         */
        delete: operations["resetSecondFactor"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/invitations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The invitations to the organisation, present and past
         * @description Newest first. Ended ones are kept for 30 days.
         */
        get: operations["listInvitations"];
        put?: never;
        /**
         * Invite a person by e-mail
         * @description The secret is in this answer and nowhere else. Whoever has it may join once as the person with that e-mail,
         *     so give it to nobody else: nothing is mailed. The answer is the same whether the e-mail has an account or
         *     not. The role must be within the role and the scopes of who invites. What a member has invited to ends with
         *     their membership, or with a role of theirs that is less; what a token has invited to ends when the token is
         *     revoked.
         */
        post: operations["createInvitation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/invitations/{invitation_id}": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                invitation_id: components["parameters"]["InvitationId"];
            };
            cookie?: never;
        };
        /** One invitation */
        get: operations["getInvitation"];
        put?: never;
        post?: never;
        /**
         * Withdraw an invitation
         * @description Its secret is invalid from now on. An invitation that has ended stays as it is.
         */
        delete: operations["revokeInvitation"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The organisation's tokens (operators without `Kule-Organisation` see operator tokens) */
        get: operations["listTokens"];
        put?: never;
        /**
         * Mint a token
         * @description The secret is in this answer and nowhere else: the database holds only its SHA-256. A token never may more
         *     than the role it carries, and no more than its `scopes` (permissions such as `server:create`, or
         *     `server:*`, or `*:read`); it cannot carry a role above the caller's. A session needs a fresh proof
         *     (409 `proof_required`, `POST /me/proof`).
         *
         *     An operator who acts in an organisation gives a `reason` and gets a token of one day at most. It is in the
         *     organisation's own audit trail and list of tokens, and every token created with it ends with it.
         */
        post: operations["createToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/tokens/{token_id}": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                token_id: components["parameters"]["TokenId"];
            };
            cookie?: never;
        };
        /** One token */
        get: operations["getToken"];
        put?: never;
        post?: never;
        /**
         * Revoke a token
         * @description It is refused everywhere within one second.
         */
        delete: operations["revokeToken"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/tokens/{token_id}/rotate": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                token_id: components["parameters"]["TokenId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Replace a token's secret
         * @description Answers a new token with the same name, role, scopes and lifetime. The old one stays valid for
         *     `overlap_seconds` (default 0: it ends at once). A session needs a fresh proof, and an operator who acts in an
         *     organisation a `reason`, as in `POST /tokens`.
         */
        post: operations["rotateToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Who did what, when, and how it ended
         * @description Every mutation leaves one entry, refused ones too. Operators without `Kule-Organisation` see all.
         */
        get: operations["listAudit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/audit/verify": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Whether the audit trail is intact
         * @description The worker seals entries a few seconds after they are written, each chained to the one before by a key that the
         *     database does not have, and verifies the trail against its seals every ten minutes. This is the result of the
         *     last check: for the calling organisation's entries, or for all of the installation (operators without
         *     `Kule-Organisation`). Entries later than `up_to` were not checked.
         */
        get: operations["verifyAudit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/catalog": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Images, packages and the regions this organisation may use */
        get: operations["getCatalog"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/catalog/check": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Whether a server of a kind could be placed now
         * @description Changes nothing and reserves nothing. Answers from the agent's last report, less what was accepted since. While
         *     there is none (`known: false`) a create is accepted and waits for the region.
         */
        post: operations["checkCatalog"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/regions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** All regions, with their agents' health (operators) */
        get: operations["listRegions"];
        put?: never;
        /**
         * Register a region (operators)
         * @description The VMID and VLAN ranges are what Kule may allocate in that cluster: nothing else there may use them. They can be
         *     widened later, never narrowed below what is in use.
         */
        post: operations["createRegion"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/regions/{region}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                region: components["parameters"]["RegionSlug"];
            };
            cookie?: never;
        };
        /** One region (operators) */
        get: operations["getRegion"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Rename, restrict, pause or extend a region (operators)
         * @description `restricted_to` lists the only organisations that see the region; `null` opens it to all. In `maintenance`
         *     no job is handed out and creating answers 409 `region_unavailable`.
         */
        patch: operations["updateRegion"];
        trace?: never;
    };
    "/regions/{region}/restore": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                region: components["parameters"]["RegionSlug"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Go on in a region after the control plane was restored (operators)
         * @description After a restore of the control plane's database from a backup (`kule-server restored`) nothing is allocated and no
         *     job is handed out in a region until a complete scan of it was taken in: 409 `region_unavailable`, `region_scanned`.
         *     `accept_incomplete_scan` takes the next scan for it though a node does not answer, such as one that is lost: VMs that
         *     only this node knows may then share numbers with new ones.
         *
         *     `ended` says that what `GET /operator/restore`, `/operator/held-vms` and `/operator/drift` list was worked through:
         *     from then on servers whose removal buffer is over are destroyed again, and so are those whose destruction the backup
         *     had queued. Refused with 409 `invalid_state` before the region was scanned (`region_scanned_since_restore`), or when
         *     nothing was restored (`region_was_restored`). It cannot be taken back.
         */
        patch: operations["updateRegionRestore"];
        trace?: never;
    };
    "/regions/{region}/capacity": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                region: components["parameters"]["RegionSlug"];
            };
            cookie?: never;
        };
        /**
         * A region's total and free capacity (operators)
         * @description Nodes and storages as the region's agent reported them last, with what the servers there take by their packages.
         *     `fresh` is false when the report is too old to refuse a create by it.
         */
        get: operations["getRegionCapacity"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/regions/{region}/agent-tokens": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                region: components["parameters"]["RegionSlug"];
            };
            cookie?: never;
        };
        /** The region's agent tokens (operators) */
        get: operations["listAgentTokens"];
        put?: never;
        /**
         * Create an agent token bound to this region (operators)
         * @description Give it to the agent as `KULE_AGENT_TOKEN`. It opens the agent's three calls for this region only. A session needs
         *     a fresh proof (409 `proof_required`).
         */
        post: operations["createAgentToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/regions/{region}/agent-tokens/{token_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                region: components["parameters"]["RegionSlug"];
                token_id: components["parameters"]["TokenId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Revoke an agent token (operators) */
        delete: operations["revokeAgentToken"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/regions/{region}/agent-tokens/{token_id}/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                region: components["parameters"]["RegionSlug"];
                token_id: components["parameters"]["TokenId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Replace an agent token, with an overlap (operators)
         * @description The old token works for `overlap_seconds` more (default 600), so that the agent can be restarted meanwhile.
         */
        post: operations["rotateAgentToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/regions/{region}/enrolments": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                region: components["parameters"]["RegionSlug"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create a code with which an agent enrols in this region (operators)
         * @description For `kule-agent enrol <api_url> <code>` on the agent's machine, which then gets a token of the region of its own: no
         *     token has to be copied. The code works once, within 15 minutes, and is shown only here. When the installation's API
         *     has a certificate of a private authority, the code ends with the SHA-256 of that authority's certificate, and the
         *     agent trusts no other one. A session needs a fresh proof (409 `proof_required`).
         */
        post: operations["createEnrolment"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/regions/{region}/agent-key": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                region: components["parameters"]["RegionSlug"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Approve another sealing key of the region (operators)
         * @description Passwords of Windows servers are sealed to the first public key that an agent of the region reported. Another one
         *     reported later waits here: it may be a new installation's, or an attacker's who has the agent's token.
         *     Compare the fingerprint with what `kule-agent check` prints in the region. What was sealed to the key before can
         *     only be opened with that one.
         */
        post: operations["approveAgentKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/regions/{region}/agent-key/pending": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                region: components["parameters"]["RegionSlug"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Refuse the pending sealing key (operators)
         * @description Revoke the token that reported it first. An agent that still reports the key makes it wait again.
         */
        delete: operations["refuseAgentKey"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agent-releases": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The releases of the agent that the control plane has (operators)
         * @description What is in the folder that `KULE_AGENT_RELEASES` names, the newest version first, at most 200. The control plane
         *     compares the files with their manifests and offers no other ones. It does not check who signed them: each agent does
         *     that itself, with the publisher's keys that are in its binary.
         */
        get: operations["getAgentReleases"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agent-updates": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** How agents are updated (operators) */
        get: operations["getAgentUpdates"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Change how agents are updated (operators)
         * @description They apply to the rollout that is open too. `paused` and `window` hold back further offers; a region that was offered a
         *     version goes on.
         */
        patch: operations["updateAgentUpdates"];
        trace?: never;
    };
    "/agent-rollouts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The rollouts of agent releases (operators) */
        get: operations["listAgentRollouts"];
        put?: never;
        /**
         * Roll a release out to all regions (operators)
         * @description The first region is offered the version at once, or when the window opens. When its agents have updated and
         *     `wait_minutes` have passed, the others follow, at most `max_at_once` at a time. The rollout stops by itself when an
         *     agent refuses the version, fails or goes back, when an offered region is silent for more than 5 minutes, and when an
         *     offered region is less healthy than before, or more of its jobs fail. Regions whose agents cannot update themselves are
         *     skipped. Without `first_region` it is the one with the fewest servers. One rollout can be open at a time.
         */
        post: operations["createAgentRollout"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agent-rollouts/{agent_rollout_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                agent_rollout_id: components["parameters"]["AgentRolloutId"];
            };
            cookie?: never;
        };
        /** One rollout with its regions (operators) */
        get: operations["getAgentRollout"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agent-rollouts/{agent_rollout_id}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                agent_rollout_id: components["parameters"]["AgentRolloutId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Offer the version to no further region (operators)
         * @description Regions that were offered the version go on, and the rollout still stops when one of them gets worse.
         */
        post: operations["pauseAgentRollout"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agent-rollouts/{agent_rollout_id}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                agent_rollout_id: components["parameters"]["AgentRolloutId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Go on with a paused or stopped rollout (operators)
         * @description The regions that failed stay as they are; the others follow. A stopped rollout goes on at the operator's risk.
         */
        post: operations["resumeAgentRollout"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agent-rollouts/{agent_rollout_id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                agent_rollout_id: components["parameters"]["AgentRolloutId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * End a rollout and withdraw its offers (operators)
         * @description Regions that have not updated keep their version. An agent that is just being updated ends that; none goes back.
         */
        post: operations["cancelAgentRollout"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/ssh-keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The organisation's public keys */
        get: operations["listSshKeys"];
        put?: never;
        /**
         * Add a public key
         * @description Accepted: ed25519, ecdsa, rsa of at least 2048 bits, and security-key (`sk-`) variants, in the one-line
         *     OpenSSH form. A private key, a DSA key or a line with an options prefix is refused with a message that says so.
         */
        post: operations["createSshKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/ssh-keys/{ssh_key_id}": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                ssh_key_id: components["parameters"]["SshKeyId"];
            };
            cookie?: never;
        };
        /** One key */
        get: operations["getSshKey"];
        put?: never;
        post?: never;
        /**
         * Delete a key
         * @description Servers that already hold it keep it.
         */
        delete: operations["deleteSshKey"];
        options?: never;
        head?: never;
        /**
         * Rename a key or change its labels
         * @description In `labels`, a value sets and `null` removes; labels that are not named stay.
         */
        patch: operations["updateSshKey"];
        trace?: never;
    };
    "/networks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The organisation's private networks */
        get: operations["listNetworks"];
        put?: never;
        /**
         * Create a private network
         * @description A network is a layer-3 domain of its own: nothing routes between two networks, and two networks may use the
         *     same addresses. Without `cidr` the next free /16 of 10.0.0.0/8 is taken. `job` is null when the region's edge
         *     needs no change.
         */
        post: operations["createNetwork"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/networks/{network_id}": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                network_id: components["parameters"]["NetworkId"];
            };
            cookie?: never;
        };
        /** One network */
        get: operations["getNetwork"];
        put?: never;
        post?: never;
        /**
         * Delete an empty network
         * @description A network that still has subnets answers 409 `in_use`; those that are being deleted do not count.
         */
        delete: operations["deleteNetwork"];
        options?: never;
        head?: never;
        /** Rename a network, change its description or labels */
        patch: operations["updateNetwork"];
        trace?: never;
    };
    "/networks/{network_id}/explain": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                network_id: components["parameters"]["NetworkId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Check reachability between two endpoints, and what decides it
         * @description Of the first packet of a flow from or to a server of this network, or to the address of its gateway, as the
         *     organisation's records are now:
         *     isolation, tiers, gateways, public addresses and firewalls. Changes nothing and sends nothing to the region. An
         *     address that is not the organisation's is not looked up.
         */
        post: operations["explainNetwork"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/networks/{network_id}/subnets": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                network_id: components["parameters"]["NetworkId"];
            };
            cookie?: never;
        };
        /** The network's subnets */
        get: operations["listSubnets"];
        put?: never;
        /**
         * Create a subnet
         * @description Tier `app` and `mgmt` can reach the internet once a gateway is attached; `data` never can. The tier cannot be
         *     changed later. Without `cidr` the next free /24 of the network is taken. The first usable address is the
         *     gateway's.
         */
        post: operations["createSubnet"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/networks/{network_id}/subnets/{subnet_id}": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                network_id: components["parameters"]["NetworkId"];
                subnet_id: components["parameters"]["SubnetId"];
            };
            cookie?: never;
        };
        /** One subnet */
        get: operations["getSubnet"];
        put?: never;
        post?: never;
        /**
         * Delete an empty subnet
         * @description A subnet whose addresses are in use or reserved answers 409 `in_use` and names who has them.
         */
        delete: operations["deleteSubnet"];
        options?: never;
        head?: never;
        /**
         * Rename a subnet, change its name servers or labels
         * @description Name servers reach servers created from now on.
         */
        patch: operations["updateSubnet"];
        trace?: never;
    };
    "/networks/{network_id}/subnets/{subnet_id}/addresses": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                network_id: components["parameters"]["NetworkId"];
                subnet_id: components["parameters"]["SubnetId"];
            };
            cookie?: never;
        };
        /**
         * The subnet's addresses that are not free
         * @description In their order, each with who has it and since when. An address that is not listed is free: a server or a
         *     reservation can have it.
         */
        get: operations["listSubnetAddresses"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/networks/{network_id}/subnets/{subnet_id}/reservations": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                network_id: components["parameters"]["NetworkId"];
                subnet_id: components["parameters"]["SubnetId"];
            };
            cookie?: never;
        };
        /** The subnet's reserved addresses */
        get: operations["listReservations"];
        put?: never;
        /**
         * Reserve an address of the subnet
         * @description The address named, or the lowest free one. It is assigned only to a server that names it in `private_ip`; when that
         *     server is deleted, the address is quarantined and then belongs to the reservation again. An address that is not
         *     free, also one in quarantine, answers 409 `address_in_use`.
         */
        post: operations["createReservation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/networks/{network_id}/subnets/{subnet_id}/reservations/{reservation_id}": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                network_id: components["parameters"]["NetworkId"];
                subnet_id: components["parameters"]["SubnetId"];
                reservation_id: components["parameters"]["ReservationId"];
            };
            cookie?: never;
        };
        /** One reserved address */
        get: operations["getReservation"];
        put?: never;
        post?: never;
        /**
         * Keep an address no more
         * @description The address is quarantined before it is assigned again. A server that has it keeps it until the server is deleted.
         */
        delete: operations["deleteReservation"];
        options?: never;
        head?: never;
        /**
         * Rename a reservation, change its description or labels
         * @description The address stays. For another one create another reservation.
         */
        patch: operations["updateReservation"];
        trace?: never;
    };
    "/firewalls": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The organisation's firewalls */
        get: operations["listFirewalls"];
        put?: never;
        /**
         * Create a firewall
         * @description A firewall filters the servers that it is attached to, on their private and public interfaces, and remembers the
         *     flows that it lets pass. Attached, it lets nothing in that no rule allows, and everything out that none forbids.
         */
        post: operations["createFirewall"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/firewalls/{firewall_id}": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                firewall_id: components["parameters"]["FirewallId"];
            };
            cookie?: never;
        };
        /** One firewall */
        get: operations["getFirewall"];
        put?: never;
        post?: never;
        /**
         * Delete a firewall that is attached to nothing
         * @description One that is attached, or that a rule of another one names, answers 409 `in_use`.
         */
        delete: operations["deleteFirewall"];
        options?: never;
        head?: never;
        /** Rename a firewall, change its description or labels */
        patch: operations["updateFirewall"];
        trace?: never;
    };
    "/firewalls/{firewall_id}/rules": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                firewall_id: components["parameters"]["FirewallId"];
            };
            cookie?: never;
        };
        get?: never;
        /**
         * Replace all rules of a firewall
         * @description A rule that is equal to one of them keeps its id.
         */
        put: operations["setFirewallRules"];
        /** Add a rule */
        post: operations["addFirewallRule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/firewalls/{firewall_id}/rules/{firewall_rule_id}": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                firewall_id: components["parameters"]["FirewallId"];
                firewall_rule_id: components["parameters"]["FirewallRuleId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Remove a rule */
        delete: operations["removeFirewallRule"];
        options?: never;
        head?: never;
        /**
         * Change a rule in place
         * @description What is left out stays; lists are replaced as a whole. The rule keeps its id. A new description or place in the
         *     list changes nothing in the region: the order of rules is set by `priority`.
         */
        patch: operations["updateFirewallRule"];
        trace?: never;
    };
    "/firewalls/{firewall_id}/attachments": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                firewall_id: components["parameters"]["FirewallId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Attach a firewall to a server, a subnet or the servers with certain labels
         * @description Servers that are created in the subnet later, or get the labels later, are included.
         */
        post: operations["attachFirewall"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/firewalls/{firewall_id}/attachments/{firewall_attachment_id}": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                firewall_id: components["parameters"]["FirewallId"];
                firewall_attachment_id: components["parameters"]["FirewallAttachmentId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Detach a firewall */
        delete: operations["detachFirewall"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/firewalls/{firewall_id}/apply": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                firewall_id: components["parameters"]["FirewallId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Re-apply the rules to all servers of the firewall
         * @description For servers whose rules were changed in the region, which their `drift` shows, and for those whose job has
         *     failed. A server with a job under way gets its rules at that job's end.
         */
        post: operations["applyFirewall"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/firewalls/{firewall_id}/test": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                firewall_id: components["parameters"]["FirewallId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * What this firewall alone would do with the first packet of a flow
         * @description As if the firewall were attached to the server that `to` names or, when `to` is an address, to the one that
         *     `from` names. Changes nothing. Whether the packet gets there at all is what `POST /networks/{network_id}/explain`
         *     answers.
         */
        post: operations["testFirewall"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/gateways": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The organisation's gateways */
        get: operations["listGateways"];
        put?: never;
        /**
         * Create a gateway for a network
         * @description The gateway has a public IPv4 address of its own. `public_ip` brings one that the organisation has taken before;
         *     without it one is taken of those that the operator has allocated to the organisation, the one in `address` or a free
         *     one, 409 `no_public_ip_available` when there is none. Everything that leaves by the gateway has this address. It serves the subnets named; none of them may be of tier `data` (409 `tier_forbids_egress`).
         *
         *     A network has at most one gateway. It is `active` when the region's edge has it; a region without an edge answers
         *     409 `region_unavailable`.
         */
        post: operations["createGateway"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/gateways/{gateway_id}": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                gateway_id: components["parameters"]["GatewayId"];
            };
            cookie?: never;
        };
        /** One gateway */
        get: operations["getGateway"];
        put?: never;
        post?: never;
        /**
         * Delete a network's gateway
         * @description The subnets that it serves lose internet access. While it forwards a port it answers 409 `in_use`. It is
         *     `deleting` until the region's edge has removed it; then it is deleted, and its address is quarantined before it
         *     is assigned again. An address that was named in `public_ip`, or is protected, stays the organisation's, free for
         *     another use. A second delete answers 409 `resource_deleting` while the job is open, and retries when it has
         *     failed.
         */
        delete: operations["deleteGateway"];
        options?: never;
        head?: never;
        /** Rename a gateway, change its description or labels */
        patch: operations["updateGateway"];
        trace?: never;
    };
    "/gateways/{gateway_id}/subnets": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                gateway_id: components["parameters"]["GatewayId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Attach a subnet to the gateway
         * @description A subnet of tier `data` answers 409 `tier_forbids_egress`, always.
         */
        post: operations["attachGatewaySubnet"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/gateways/{gateway_id}/subnets/{subnet_id}": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                gateway_id: components["parameters"]["GatewayId"];
                subnet_id: components["parameters"]["SubnetId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Detach a subnet from the gateway
         * @description A subnet that a port is forwarded into answers 409 `in_use`. Until the region's edge has removed it the subnet is
         *     `detaching`, and its `egress` is still `gateway`. When the job has failed, send the request again.
         */
        delete: operations["detachGatewaySubnet"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/gateways/{gateway_id}/port-forwards": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                gateway_id: components["parameters"]["GatewayId"];
            };
            cookie?: never;
        };
        /** The ports that the gateway forwards */
        get: operations["listPortForwards"];
        put?: never;
        /**
         * Forward a port of the gateway's address to a server
         * @description The server must be in a subnet that the gateway serves (409 `subnet_no_egress` otherwise: its answers would not come
         *     back). A port that is forwarded already answers 409 `port_in_use`. The forward is deleted with its server; the
         *     server's private address is not assigned again until the region's edge has removed the forward.
         */
        post: operations["createPortForward"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/gateways/{gateway_id}/port-forwards/{port_forward_id}": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                gateway_id: components["parameters"]["GatewayId"];
                port_forward_id: components["parameters"]["PortForwardId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Forward a port no more
         * @description It is `deleting` until the region's edge has removed it. The port is free at once. When the job has failed, send the
         *     request again.
         */
        delete: operations["deletePortForward"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/ip-pools": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The pools of public addresses (operators) */
        get: operations["listIpPools"];
        put?: never;
        /**
         * Create a pool of public addresses (operators)
         * @description `gateway` and `prefix_length` are configured in guests; every range of the pool lies in that network. Without `vlan`
         *     the addresses are in the public network that the region file names. None of the three can be changed later.
         */
        post: operations["createIpPool"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/ip-pools/{ip_pool_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                ip_pool_id: components["parameters"]["IpPoolId"];
            };
            cookie?: never;
        };
        /** One pool (operators) */
        get: operations["getIpPool"];
        put?: never;
        post?: never;
        /**
         * Delete a pool and its ranges (operators)
         * @description A pool with an address that is allocated, reserved or in quarantine answers 409 `in_use`.
         */
        delete: operations["deleteIpPool"];
        options?: never;
        head?: never;
        /**
         * Change a pool's name, description or reverse names (operators)
         * @description A new `reverse_name` is the name of every public IP of the pool that has no `ptr` of its own; null takes these names
         *     away. The name servers have them soon after: see `ptr_status` of the public IPs.
         */
        patch: operations["updateIpPool"];
        trace?: never;
    };
    "/ip-pools/{ip_pool_id}/ranges": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                ip_pool_id: components["parameters"]["IpPoolId"];
            };
            cookie?: never;
        };
        /** The pool's ranges (operators) */
        get: operations["listIpPoolRanges"];
        put?: never;
        /**
         * Add addresses to a pool (operators)
         * @description Either `cidr` or `start` and `end`, of at most 16,384 addresses. The network address, the gateway and, with IPv4, the
         *     broadcast address may be in it and are never allocated. An address that is in another range of the installation
         *     answers 409 `range_overlap`.
         */
        post: operations["addIpPoolRange"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/ip-pools/{ip_pool_id}/ranges/{range_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                ip_pool_id: components["parameters"]["IpPoolId"];
                range_id: components["parameters"]["RangeId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Remove a range from a pool (operators)
         * @description A range with an address that is allocated, reserved or in quarantine answers 409 `in_use`.
         */
        delete: operations["removeIpPoolRange"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/ip-pools/{ip_pool_id}/utilisation": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                ip_pool_id: components["parameters"]["IpPoolId"];
            };
            cookie?: never;
        };
        /** A pool's use, by organisation (operators) */
        get: operations["getIpPoolUtilisation"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/ip-pools/{ip_pool_id}/allocations": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                ip_pool_id: components["parameters"]["IpPoolId"];
            };
            cookie?: never;
        };
        /** The addresses allocated to organisations (operators) */
        get: operations["listIpPoolAllocations"];
        put?: never;
        /**
         * Allocate addresses to an organisation (operators)
         * @description Either `count` of the lowest free addresses, or the `addresses` by name: all of them or none. They are the
         *     organisation's to take (`POST /public-ips`) until they are withdrawn, also after it has released them.
         */
        post: operations["allocateIpPoolAddresses"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/ip-pools/{ip_pool_id}/allocations/{address}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                ip_pool_id: components["parameters"]["IpPoolId"];
                address: components["parameters"]["AddressPath"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Deallocate an address from its organisation (operators)
         * @description An address that the organisation has taken answers 409 `in_use`.
         */
        delete: operations["withdrawIpPoolAddress"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/public-ips": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The organisation's public addresses */
        get: operations["listPublicIps"];
        put?: never;
        /**
         * Reserve a public IP
         * @description Of the addresses that the operator has allocated to the organisation: the one named, or a free one of the region,
         *     the one that was never used or longest not. 409 `no_public_ip_available` when there is none: the operator must
         *     allocate one.
         */
        post: operations["createPublicIp"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/public-ips/{public_ip_id}": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                public_ip_id: components["parameters"]["PublicIpId"];
            };
            cookie?: never;
        };
        /** One public address */
        get: operations["getPublicIp"];
        put?: never;
        post?: never;
        /**
         * Release a public IP
         * @description An attached one answers 409 `in_use`, a protected one 409 `protected`. The address is quarantined for a time before
         *     it can be reserved again, and stays allocated to the organisation.
         */
        delete: operations["deletePublicIp"];
        options?: never;
        head?: never;
        /**
         * Change labels, PTR name, protection or whether it is released with its server
         * @description In `labels`, a value sets and `null` removes; labels that are not named stay. With `ptr` null the address has the name by
         *     the pattern of its pool, if that has one. Taking `protection.delete` off needs the permission `public_ip:unprotect`, which admins and owners have.
         */
        patch: operations["updatePublicIp"];
        trace?: never;
    };
    "/public-ips/{public_ip_id}/attach": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                public_ip_id: components["parameters"]["PublicIpId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Attach a public address to a server, or move it there
         * @description The server gets a second interface in the public network with the address; at most one of each IP version. On a running
         *     server whose guest agent answers it works at once; otherwise it is configured at the next power cycle (stop and
         *     start, or reboot through the API) and `requires_reboot` is true.
         *
         *     An address of another server is refused with `already_attached`, unless `force` moves it: it is taken off the one
         *     server before the other is given it. A server in a `data` subnet answers 409 `tier_forbids_egress`.
         */
        post: operations["attachPublicIp"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/public-ips/{public_ip_id}/detach": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                public_ip_id: components["parameters"]["PublicIpId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Detach a public address from its server
         * @description The organisation keeps it: attach it elsewhere, or release it.
         */
        post: operations["detachPublicIp"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/certificates": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The organisation's TLS certificates */
        get: operations["listCertificates"];
        put?: never;
        /**
         * Upload a certificate, or have one issued
         * @description `uploaded`: the certificate, what leads from it to a root, and its private key, in PEM. A chain in another order is put
         *     right. The private key is sealed to the agent of the region at once: no answer has it, and the control plane cannot
         *     read it again.
         *
         *     `managed`: Kule has it issued by the installation's CA and renews it. Its private key is made in the region. With
         *     `challenge: dns` each name lies in a proven domain of the organisation, and Kule writes the records that prove it; with
         *     `challenge: http` a load balancer of the region answers the CA on port 80 of each name. `GET …/challenges` says what is
         *     missing.
         *
         *     Load balancers of that region can use the certificate.
         */
        post: operations["createCertificate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/certificates/{certificate_id}": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                certificate_id: components["parameters"]["CertificateId"];
            };
            cookie?: never;
        };
        /** One certificate */
        get: operations["getCertificate"];
        put?: never;
        post?: never;
        /**
         * Delete a certificate
         * @description Refused while a listener uses it (`in_use`). Its private key is deleted with it.
         */
        delete: operations["deleteCertificate"];
        options?: never;
        head?: never;
        /**
         * Rename a certificate or change its labels
         * @description In `labels`, a value sets and `null` removes; labels that are not named stay.
         */
        patch: operations["updateCertificate"];
        trace?: never;
    };
    "/certificates/{certificate_id}/material": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                certificate_id: components["parameters"]["CertificateId"];
            };
            cookie?: never;
        };
        get?: never;
        /**
         * Replace the certificate and the key of an uploaded certificate
         * @description Every listener that uses the certificate gets the new one, without a lost connection; nothing else of it changes. The
         *     names may be others than before.
         */
        put: operations["replaceCertificateMaterial"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/certificates/{certificate_id}/renew": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                certificate_id: components["parameters"]["CertificateId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Have a managed certificate issued anew, now
         * @description Kule renews by itself when a third of the lifetime is left, or when the CA asks for it. This does it now, with a new key;
         *     it also ends the wait after an attempt that has failed. Refused while the CA has asked to wait (`invalid_state`,
         *     precondition `ca_accepts_orders`).
         */
        post: operations["renewCertificate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/certificates/{certificate_id}/challenges": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                certificate_id: components["parameters"]["CertificateId"];
            };
            cookie?: never;
        };
        /**
         * How the names of a managed certificate are proven
         * @description For each name what proves it, whether it can be proven now, and what the CA has said. Empty for an uploaded certificate.
         *     Of a proof over HTTP, where the names lead is looked up at most every 10 seconds; 429 while two other certificates of the
         *     organisation, or too many of all, are being looked up.
         */
        get: operations["getCertificateChallenges"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/domains": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The organisation's domains */
        get: operations["listDomains"];
        put?: never;
        /**
         * Add a domain
         * @description The domain is served once `POST /domains/{id}/verify` has seen the TXT record of `verification.record`, or a
         *     delegation to `name_servers`. A name that is not proven within 7 days expires. Several organisations may have added
         *     the same name: who proves it first has it, until somebody else proves it while it is delegated to other name servers.
         *     A name inside of a domain that the organisation has needs no proof; one inside of another organisation's domain needs
         *     a delegation there. Names under which others register, such as `co.uk`, are refused. `zone_file` fills the new domain; its SOA and the NS
         *     of its apex are left out.
         */
        post: operations["createDomain"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/domains/{domain_id}": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                /** @description The domain's id, or its name */
                domain_id: components["parameters"]["DomainId"];
            };
            cookie?: never;
        };
        /** One domain */
        get: operations["getDomain"];
        put?: never;
        post?: never;
        /**
         * Mark a domain for removal
         * @description A proven domain stays served, with its records read-only, until `deletion.purge_at`; then a job removes it from the
         *     name servers. `POST /domains/{id}/cancel-deletion` undoes it until that job exists. With `purge=true` there is no buffer,
         *     or it ends now: that needs the permission `domain:purge`. A domain that is not proven is deleted at once (204).
         *     Refused while it is protected (`protected`), and while domains inside of it are the organisation's by it alone
         *     (`in_use`): verify or delete those first.
         */
        delete: operations["deleteDomain"];
        options?: never;
        head?: never;
        /**
         * Change a domain's default TTL, description, protection or labels
         * @description A new default TTL is for record sets that are written after it. In `labels`, a value sets and `null` removes.
         *     Taking `protection.delete` off needs the permission `domain:unprotect`, which admins and owners have.
         */
        patch: operations["updateDomain"];
        trace?: never;
    };
    "/domains/{domain_id}/cancel-deletion": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                /** @description The domain's id, or its name */
                domain_id: components["parameters"]["DomainId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Cancel the deletion of a domain */
        post: operations["cancelDomainDeletion"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/domains/{domain_id}/verify": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                /** @description The domain's id, or its name */
                domain_id: components["parameters"]["DomainId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Prove a domain
         * @description Asks the name servers of the Internet now, whose old answers may be cached for some minutes, for the TXT record and the
         *     delegation. 409 `domain_not_proven` says what was seen. 503 when no name server that knows could be asked.
         *     Kule also looks by itself, every few minutes. A domain that is the organisation's by its parent domain
         *     (`verified_by: parent`) gets a proof of its own, with which it stays when the parent is deleted.
         */
        post: operations["verifyDomain"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/domains/{domain_id}/check": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                /** @description The domain's id, or its name */
                domain_id: components["parameters"]["DomainId"];
            };
            cookie?: never;
        };
        /**
         * Check delegation and propagation now
         * @description Asks each name server of the domain what it serves, and the parent's name servers where they delegate it to.
         */
        get: operations["checkDomain"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/domains/{domain_id}/apply": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                /** @description The domain's id, or its name */
                domain_id: components["parameters"]["DomainId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Compare a domain with its name servers and put it right
         * @description Whatever somebody has changed at the DNS provider by hand (`drift`) is replaced by what this API shows.
         */
        post: operations["applyDomain"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/domains/{domain_id}/dnssec": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                /** @description The domain's id, or its name */
                domain_id: components["parameters"]["DomainId"];
            };
            cookie?: never;
        };
        get?: never;
        /**
         * Sign a domain, or stop signing it
         * @description Once signed, enter the DS records of `dnssec.ds` at the registrar. Before signing ends, remove them there and wait
         *     for their TTL: resolvers refuse the answers of an unsigned zone that has DS records. While the parent still has
         *     them, `enabled: false` is refused (`ds_at_parent`); `force: true` ends signing all the same.
         */
        put: operations["setDomainDnssec"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/domains/{domain_id}/zone-file": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                /** @description The domain's id, or its name */
                domain_id: components["parameters"]["DomainId"];
            };
            cookie?: never;
        };
        /**
         * The domain as a zone file (RFC 1035)
         * @description Record sets that follow a server have its present addresses.
         */
        get: operations["exportZoneFile"];
        put?: never;
        /**
         * Take record sets from a zone file
         * @description All of it or nothing. `mode: merge` (the default) replaces the record sets that the file has and keeps the others;
         *     `mode: replace` deletes the others. SOA and the NS of the apex are left out; a type that Kule does not serve is an error
         *     that names its line.
         */
        post: operations["importZoneFile"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/domains/{domain_id}/records": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                /** @description The domain's id, or its name */
                domain_id: components["parameters"]["DomainId"];
            };
            cookie?: never;
        };
        /**
         * The record sets of a domain
         * @description By name and type; the name servers of the apex are not among them.
         */
        get: operations["listRecordSets"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/domains/{domain_id}/records/{record_name}/{record_type}": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                /** @description The domain's id, or its name */
                domain_id: components["parameters"]["DomainId"];
                /** @description Relative to the domain; `@` is the domain itself */
                record_name: components["parameters"]["RecordName"];
                record_type: components["parameters"]["RecordTypePath"];
            };
            cookie?: never;
        };
        /** One record set */
        get: operations["getRecordSet"];
        /**
         * Create a record set or replace it
         * @description `If-None-Match: *` writes it only if there is none. `auto:srv_…` as the only value of A or AAAA stands for the public
         *     addresses of that server, whatever they are at any time.
         */
        put: operations["setRecordSet"];
        post?: never;
        /** Delete a record set */
        delete: operations["deleteRecordSet"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/domains/{domain_id}/records/{record_name}/{record_type}/values": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                /** @description The domain's id, or its name */
                domain_id: components["parameters"]["DomainId"];
                /** @description Relative to the domain; `@` is the domain itself */
                record_name: components["parameters"]["RecordName"];
                record_type: components["parameters"]["RecordTypePath"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Add values to a record set, or remove some
         * @description For programs that share a record set, such as the TXT records of ACME challenges: others' values stay as they are. A value
         *     that is there already, or is not there to be removed, is no error. A record set without values is deleted; one that does
         *     not exist is created.
         */
        post: operations["changeRecordValues"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/domains/{domain_id}/changes": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                /** @description The domain's id, or its name */
                domain_id: components["parameters"]["DomainId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Change several record sets at once
         * @description All of them or none, in one change of the zone. `if_match` of a change is the `etag` of the record set; a record set that has
         *     another one by now answers 412 and nothing is changed.
         */
        post: operations["changeRecordSets"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/load-balancers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The organisation's load balancers */
        get: operations["listLoadBalancers"];
        put?: never;
        /**
         * Create a load balancer
         * @description A load balancer runs on one server that it manages, with `ha: true` on two of which either can have its address. They are in
         *     `GET /servers?managed=true`, count in the quotas of CPUs, memory and disk, and only the load balancer changes them.
         *
         *     `listeners` and `targets` can be given here and changed later. A target gets traffic after its first successful health
         *     checks. The answer's `job` creates the first server; the load balancer is `active` when its configuration is in force.
         *     With `public_ip: auto` a free address is reserved and released with the load balancer; one that is named stays reserved.
         *     Together with `ha: true` the machine that serves has the public address, too.
         */
        post: operations["createLoadBalancer"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/load-balancers/{load_balancer_id}": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                load_balancer_id: components["parameters"]["LoadBalancerId"];
            };
            cookie?: never;
        };
        /** One load balancer */
        get: operations["getLoadBalancer"];
        put?: never;
        post?: never;
        /**
         * Delete a load balancer
         * @description Possible in every state. Its servers are destroyed without a removal buffer; it is `deleting` until they are gone. A second
         *     delete tries again what has failed. An address that was reserved for it is released; one that was named stays reserved.
         */
        delete: operations["deleteLoadBalancer"];
        options?: never;
        head?: never;
        /**
         * Change the name, description, labels or algorithm of a load balancer
         * @description A new algorithm is brought to the machines by a job (202); everything else is in force at once (200).
         */
        patch: operations["updateLoadBalancer"];
        trace?: never;
    };
    "/load-balancers/{load_balancer_id}/apply": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                load_balancer_id: components["parameters"]["LoadBalancerId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Bring the whole configuration to the machines again
         * @description Also the way out of a change that has failed, and of a machine whose creation has failed: that one is made anew.
         */
        post: operations["applyLoadBalancer"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/load-balancers/{load_balancer_id}/resize": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                load_balancer_id: components["parameters"]["LoadBalancerId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Resize the servers of a load balancer to another package
         * @description Its servers get the CPU and memory of the package, and with them another number of connections at once; their disks stay
         *     as they are. Each is restarted for it.
         *
         *     * With `ha: true` one after the other: the standby first, and the other one when the first answers again. The addresses
         *       move to it within seconds, and connections that were open there end.
         *     * With one server nothing is served while it restarts, about a minute.
         *     * 409 `capacity_unavailable` when the node of the first server lacks the capacity for the difference, and `quota_exceeded`
         *       when the quota does not suffice for all. Where the second finds no room when it is its turn, it is tried again
         *       (`status_reason` `resize_waiting`).
         *
         *     The answer's `job` resizes the first server; it is null while none can be resized now, because one is being made, say. When
         *     it fails, `status_reason` is `resize_failed` and the other server stays as it is; the same request again goes on. To the
         *     package that all its servers have is refused (409).
         */
        post: operations["resizeLoadBalancer"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/load-balancers/{load_balancer_id}/health": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                load_balancer_id: components["parameters"]["LoadBalancerId"];
            };
            cookie?: never;
        };
        /**
         * Its machines, listeners and targets as they were seen
         * @description The region asks every machine about every 30 seconds. Of two machines, the health of targets is what the active one says.
         */
        get: operations["getLoadBalancerHealth"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/load-balancers/{load_balancer_id}/metrics": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                load_balancer_id: components["parameters"]["LoadBalancerId"];
            };
            cookie?: never;
        };
        /**
         * What its listeners have carried, by the hour
         * @description Bytes of https listeners are those after decryption. Traffic is added when the machines are asked, about every 30 seconds.
         */
        get: operations["getLoadBalancerMetrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/load-balancers/{load_balancer_id}/listeners": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                load_balancer_id: components["parameters"]["LoadBalancerId"];
            };
            cookie?: never;
        };
        /** The load balancer's listeners */
        get: operations["listListeners"];
        put?: never;
        /**
         * Add a listener
         * @description At most 32. A port that another listener has answers 409 `port_in_use`. An edit is accepted while another one is being
         *     applied: the next job brings both.
         */
        post: operations["createListener"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/load-balancers/{load_balancer_id}/listeners/{listener_id}": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                load_balancer_id: components["parameters"]["LoadBalancerId"];
                listener_id: components["parameters"]["ListenerId"];
            };
            cookie?: never;
        };
        /** One listener */
        get: operations["getListener"];
        put?: never;
        post?: never;
        /**
         * Remove a listener
         * @description The last https listener stays while an http listener redirects to it (409 `in_use`).
         */
        delete: operations["deleteListener"];
        options?: never;
        head?: never;
        /**
         * Change a listener
         * @description What is left out stays as it is; `health_check` and `sticky` are replaced as a whole. `If-Match` is of the load balancer.
         */
        patch: operations["updateListener"];
        trace?: never;
    };
    "/load-balancers/{load_balancer_id}/targets": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                load_balancer_id: components["parameters"]["LoadBalancerId"];
            };
            cookie?: never;
        };
        /** The load balancer's targets */
        get: operations["listTargets"];
        put?: never;
        /**
         * Add a target
         * @description Exactly one of a server of the network, a label selector, and an IPv4 address of the network or a public one. A selector
         *     follows the servers of the network that come, go and change their labels. At most 64 targets, which are at most 256 addresses
         *     together.
         */
        post: operations["createTarget"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/load-balancers/{load_balancer_id}/targets/{target_id}": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                load_balancer_id: components["parameters"]["LoadBalancerId"];
                target_id: components["parameters"]["TargetId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Remove a target */
        delete: operations["deleteTarget"];
        options?: never;
        head?: never;
        /**
         * Change a target's weight, or drain it
         * @description With `drain` it gets no new connections; those that it has go on until they end, for at most 10 minutes.
         */
        patch: operations["updateTarget"];
        trace?: never;
    };
    "/servers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The organisation's servers
         * @description Servers in the removal buffer are in the list; destroyed ones are not. Servers that a load balancer or a cluster runs
         *     on are listed only with `managed=true`, and then alone.
         */
        get: operations["listServers"];
        put?: never;
        /**
         * Create a server
         * @description One transaction allocates the name, the private address, the MAC and the VM number, writes the server as `creating`
         *     and the job `ServerCreate`, and answers. The region's agent does the rest: follow `job`.
         *
         *     * `region` may be left out when the organisation sees exactly one.
         *     * `subnet_id` may be left out: then the server goes to the `app` subnet of the network `default`, or to the only
         *       subnet there is; an organisation with no network in the region gets both (`created` says so).
         *     * Without `ssh_key_ids` a console password is generated. It is in this answer and nowhere else.
         *     * The password of a Windows server is set by its guest agent, for which the job waits after the start: the first boot
         *       can take ten minutes and more, and after 20 minutes the job fails with `guest_agent_unavailable`. The password that
         *       was shown stays good for a retry of the job. With `start: false` no password is generated (`console_password` is
         *       null): ask for a password reset after the first start.
         *     * `public_ip` gives it a public address: the one named, or with `auto` one of those allocated to the organisation.
         *     * `firewall_ids` attaches firewalls to it in the same transaction, so that it is filtered from its first start on.
         *       Needs the permission `firewall:update` too.
         *     * Windows images take no SSH keys and need a package of at least 4 GB memory.
         */
        post: operations["createServer"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/servers/import": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Import a VM that is in a region already (operators)
         * @description The VM must have one of Kule's numbers in the region that no server has, and no marker, except that of a server of
         *     this organisation that the records do not have, as after a restore of the database from a backup: then it becomes the
         *     server with that id again, and keeps its private and public addresses where the records have them. A number for which the last
         *     scan of the region found no VM is refused (409 `vm_not_importable`). The server gets the number
         *     and an address; `ServerAdopt` writes the name, the marker and the tags onto the VM, after a check that it
         *     carries none of another installation, puts it into its organisation's pool, and changes nothing else: it keeps
         *     running, or stays off. What differs from the package, the subnet and the address is shown as `drift`; `POST
         *     /servers/{server_id}/reconcile` corrects everything but its size.
         */
        post: operations["importServer"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/servers/{server_id}": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                server_id: components["parameters"]["ServerId"];
            };
            cookie?: never;
        };
        /** One server */
        get: operations["getServer"];
        put?: never;
        post?: never;
        /**
         * Mark a server for removal
         * @description The server is stopped and its disks, name and addresses are kept until `deletion.purge_at`; then a job destroys
         *     them. `POST /servers/{id}/cancel-deletion` undoes it until that job exists. Always accepted, also while the
         *     server is being created or after a failed create; refused only when it is protected (`protected`) or already
         *     being destroyed (`resource_deleting`).
         *
         *     With `purge=true` there is no buffer, or it ends now: the server is destroyed at once and cannot be had back.
         *     That needs the permission `server:purge`, which admins and owners have.
         */
        delete: operations["deleteServer"];
        options?: never;
        head?: never;
        /**
         * Rename a server, change its labels or its protection
         * @description In `labels`, a value sets and `null` removes; labels that are not named stay. What is only in the database is changed at
         *     once (200).
         *
         *     A new `name` is written at once and applied in the region by a job (202 with `server` and `job`): the VM is
         *     renamed, and a running Linux guest whose agent answers gets the new host name. Otherwise the guest has it from
         *     its next start, at which cloud-init treats it as a new instance and creates new SSH host keys; Windows always
         *     takes it at a start.
         *
         *     Whoever may change a server can put protection on. Taking it off (`false` where it is `true`) needs the
         *     permission `server:unprotect`, which admins and owners have.
         */
        patch: operations["updateServer"];
        trace?: never;
    };
    "/servers/{server_id}/cancel-deletion": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                server_id: components["parameters"]["ServerId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel the deletion of a server
         * @description This and the expiry take the same row lock: afterwards the server is either kept or destroyed, never
         *     both. A server that ran before is started again.
         */
        post: operations["cancelServerDeletion"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/servers/{server_id}/power": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                server_id: components["parameters"]["ServerId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Start, shut down, stop, reboot or reset a server
         * @description * `start` switches a stopped server on.
         *     * `shutdown` requests it of the guest and waits up to `timeout_seconds`; `stop` powers off at once, and
         *       also ends a `shutdown` or `reboot` that still waits for its guest.
         *     * `reboot` shuts the guest down and starts a new process, so that whatever waits for a cold start is applied;
         *       the job succeeds when the guest was seen to be off and runs again. `reset` is a hard reset: the guest boots
         *       again in the same process.
         *     * A guest that does not shut down in time is left running and the job fails with `guest_ignored`; with `force_after`
         *       it is powered off instead.
         *
         *     `actions` of the server shows which of them is possible now; any other answers 409 `invalid_state`.
         */
        post: operations["powerServer"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/servers/{server_id}/resize": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                server_id: components["parameters"]["ServerId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Resize a server to another package
         * @description CPU and memory go up and down; a disk only grows, since a file system cannot be cut off safely.
         *
         *     * With `grow_disk` (the default) the disk becomes as large as the package's; a package with a smaller disk than
         *       the server has is refused with 409 `disk_shrink_forbidden`. With `grow_disk: false` the disk stays as it is,
         *       so that the server can be made smaller again later, and a smaller package keeps the larger disk.
         *     * A running server is restarted, so it needs `allow_restart: true` unless only its disk grows: the guest is shut
         *       down, powered off after a minute if that fails, and started with the new package. A stopped one stays
         *       stopped.
         *     * Windows images keep their minimum: 422 `os_plan_mismatch`.
         *     * It grows on its node: 409 `capacity_unavailable` when the node or the storage lacks the capacity for the
         *       difference, 409 `quota_exceeded` when the quota does.
         *
         *     To the package and the disk that it has already is refused (409). The server is `resizing` until the region has read back that everything is applied and nothing waits for a start.
         */
        post: operations["resizeServer"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/servers/{server_id}/console": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                server_id: components["parameters"]["ServerId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Get a ticket for a server's console
         * @description A console works without any network of the server: the serial line of a Linux, the screen of a Windows. Open a
         *     websocket to `url` within 60 seconds with two subprotocols, `protocol` and `kule.ticket.<ticket>`; the ticket
         *     opens one websocket, and only as the kind it is for. Binary messages are the console's bytes both ways (RFB for
         *     `vnc`, which needs no password). For `serial` there are two text messages to the server, both optional:
         *     `{"type":"resize","cols":120,"rows":40}` and `{"type":"ack","bytes":n}` with all bytes that were shown so far;
         *     a client that sends `ack` is never sent much more than it has acknowledged. The server sends `{"type":"open"}`
         *     once the machine answers. A close carries the reason as its text: `server_off`, `server_deleted`, `idle`,
         *     `length`, `taken_over`, `ended`, `access_ended`, `region_silent`, `region_lost`, `serial_unsupported`,
         *     `hypervisor_failed`, `unresponsive`, `too_many_messages`, `restarting`.
         *
         *     A serial line has one session at a time. A new one of the same caller replaces it; another caller's is ended only
         *     with `take_over`. A Windows server has no serial line (422). While the region does not answer, no agent could
         *     open the console: 503 `region_unavailable` with `Retry-After`.
         */
        post: operations["openServerConsole"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/servers/{server_id}/console-sessions": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                server_id: components["parameters"]["ServerId"];
            };
            cookie?: never;
        };
        /**
         * Who has the server's console open
         * @description Tickets that still open a session, and sessions that are not over, newest first. The figures are noted every few
         *     seconds.
         */
        get: operations["listServerConsoleSessions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/servers/{server_id}/console-sessions/{session_id}": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                server_id: components["parameters"]["ServerId"];
                session_id: components["parameters"]["ConsoleSessionId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * End a console session
         * @description Your own or another caller's, whichever process of the API holds it. From the answer on its ticket is invalid and
         *     it counts for no limit; its websocket is closed with the reason `ended` at once, or within five seconds when the
         *     processes of the API cannot notify each other.
         */
        delete: operations["endServerConsoleSession"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/servers/{server_id}/rebuild": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                server_id: components["parameters"]["ServerId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Rebuild a server from an image
         * @description The server keeps its name, VM number, MAC and addresses, package and disk size. Its disk is destroyed and recreated
         *     from the image; everything on it is lost, and this cannot be undone once the job has begun to destroy it.
         *
         *     * `confirm_name` must be the server's name.
         *     * Without `ssh_key_ids` the server gets the keys it had. With none, or with a Windows image, a console password is
         *       generated: it is in this answer and nowhere else. That of a Windows server is set by its guest agent, for which the
         *       job waits as after a create.
         *     * Refused while `protection.rebuild` is on (409 `protected`).
         *
         *     The server runs at its end. A rebuild that failed after the disk was destroyed leaves it in `error`, to be retried.
         */
        post: operations["rebuildServer"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/servers/{server_id}/password-reset": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                server_id: components["parameters"]["ServerId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Reset the password of a user of the server
         * @description The password is generated, is in this answer and nowhere else.
         *
         *     * `now` (the default) sets it through the guest agent of a running server. A server that is not running answers 409
         *       `guest_agent_unavailable`, and so does one whose agent did not answer the region's last scan; when that is not
         *       known, the job fails with that code if the agent does not answer.
         *     * `next_boot` writes it where cloud-init finds it at the next start, for the image's login name only. To cloud-init the
         *       server is then a new instance: it creates new SSH host keys at that start. A Windows server has no `next_boot` (422 on
         *       `when`): every user of the guest could read the password on its drive. Start the server and ask for `now`.
         */
        post: operations["resetServerPassword"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/servers/{server_id}/reconcile": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                server_id: components["parameters"]["ServerId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Reconcile a server's VM with the records (operators)
         * @description Compares the VM with the records and writes back what differs: its name and marks (marker, tags, start with its
         *     node, protection), its network interfaces (MAC, bridge, VLAN, firewall, link, rate, trunks), its firewall and
         *     its pool. An interface that is corrected is disconnected first, and connected again only when the hypervisor's
         *     firewall has read its rules. Interfaces that the records do not know are removed. CPU, memory and disk stay as
         *     they are: a resize changes those.
         *
         *     The findings of `GET /operator/drift` close with the next scan of the region. 409 `invalid_state` when there is
         *     nothing that can be corrected: no node has the VM (`server_has_its_vm`), or only its size differs
         *     (`drift_can_be_put_right`).
         */
        post: operations["reconcileServer"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/servers/{server_id}/lock": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                server_id: components["parameters"]["ServerId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Lock a server against changes (operators)
         * @description From then on every change of the server answers 409 `locked` with the reason, and `actions` shows it, until an operator
         *     unlocks it. Open jobs continue; the end of a removal buffer waits. Locking a locked server replaces the reason.
         */
        post: operations["lockServer"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/servers/{server_id}/unlock": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                server_id: components["parameters"]["ServerId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Unlock a server (operators)
         * @description Does nothing to a server that is not locked.
         */
        post: operations["unlockServer"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/jobs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The organisation's jobs */
        get: operations["listJobs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/jobs/{job_id}": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                job_id: components["parameters"]["JobId"];
            };
            cookie?: never;
        };
        /**
         * One job
         * @description Poll until `done` is true (or `status` is `succeeded` or `failed`), at most once every 5 seconds: `Retry-After`
         *     gives the interval while the job is open. Polling the same job more than twice as fast answers 429. With `wait`
         *     the answer comes when something changed, at the latest after that many seconds, and at once when the job has
         *     ended; it is no poll and is not counted as one.
         */
        get: operations["getJob"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/jobs/{job_id}/events": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                job_id: components["parameters"]["JobId"];
            };
            cookie?: never;
        };
        /**
         * Follow a job as server-sent events
         * @description Events `job` carry the whole job as JSON each time it changes; the last one has `done: true` and then the stream
         *     ends. `Last-Event-ID` resumes after the version seen last.
         */
        get: operations["streamJobEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/jobs/{job_id}/cancel": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                job_id: components["parameters"]["JobId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel a job
         * @description A queued job ends at once; a running one ends at its next step if nothing irreversible was done, otherwise it
         *     answers 409 `invalid_state`. A cancelled create leaves its server in `error`, to be deleted or retried.
         */
        post: operations["cancelJob"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/jobs/{job_id}/retry": {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                job_id: components["parameters"]["JobId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Retry a failed or cancelled job
         * @description The same job continues from what exists: nothing is replayed. Refused when the resource has changed since, and
         *     with 409 `capacity_unavailable` or `quota_exceeded` when what its failure released is no longer available. A
         *     create uses another node than before when the former has no capacity or does not answer, and a scan of the
         *     region since has found nothing of the server there.
         */
        post: operations["retryJob"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Usage events, oldest first
         * @description Append-only: an event is written in the same transaction as the change it records.
         */
        get: operations["listUsage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/usage/segments": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Usage segments: from when to when something was used
         * @description Half-open intervals `[start, end)`, derived from the events in the transaction that writes them: at most one of a
         *     kind is open for a resource at any moment, and none overlap. A resize ends one and begins the next at the same
         *     moment. Ordered by `start`.
         */
        get: operations["listUsageSegments"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/usage/summary": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * How much was used in a period, by resource, package, day or label
         * @description Every segment counts with the part of it that lies in the window, so that the sums of adjacent windows add up.
         *     Days begin at midnight UTC. At most 400 days at once. By resource, the servers that a load balancer or a cluster runs on
         *     count under it.
         */
        get: operations["summariseUsage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/usage/export.csv": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * All of it as a table
         * @description Streamed: of any length. An error on the way breaks the connection, so a file that ends is complete.
         *     Texts that a spreadsheet would take for a formula begin with an apostrophe.
         */
        get: operations["exportUsageCsv"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/usage/export.ndjson": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Export everything, one JSON object a line
         * @description Streamed: of any length. An error on the way breaks the connection, so a file that ends is complete.
         */
        get: operations["exportUsageNdjson"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/quotas": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The organisation's quotas and their use
         * @description `used` is counted from what is there. A server in the removal buffer still counts as a server and with its disk
         *     (`reserved` is that part of `used`); its vCPUs and its memory are free at once, and cancelling the deletion
         *     needs free quota for them again.
         */
        get: operations["listQuotas"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/operator/invariants": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Violations of invariants in the database (operators)
         * @description The worker checks the database against the invariants every few minutes; this answers its last result. A pass reads
         *     what is open, what changed lately, where violations are known, and the next part of the rest, so that everything is
         *     read within a day, and within a week what a constraint of the database enforces as well; of a small installation
         *     every pass reads everything. `complete_since` says since when all has been read. `fresh=true` runs such a pass now
         *     and waits for the result, up to 30 seconds; without one until then the answer is 503. What needs more than the
         *     database is in `not_checked`.
         */
        get: operations["getInvariants"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/operator/jobs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Jobs of all organisations (operators)
         * @description Newest first, open ones and those that have ended. To act on one, name its organisation in `Kule-Organisation` and
         *     use `/jobs/{job_id}`. Those that do not continue by themselves are in `/operator/stuck-jobs`.
         */
        get: operations["listOperatorJobs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/operator/stuck-jobs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Jobs of all organisations that need an operator's attention (operators)
         * @description Longest first. `silent`: its agent has not reported for a minute after the lease expired, and no other agent has
         *     claimed it. `repeating`: tried four times or more, and still not done. `not_claimed`: could have begun a quarter
         *     of an hour ago, and no agent took it. `slow`: has run for half an hour. `failed`: ended badly within the last 30
         *     days, what it was for is still there, and nothing was done to that since. A job is listed once, for the first of
         *     these that holds; it leaves the list when none does. See docs/runbooks/stuck-job.md for what to do.
         */
        get: operations["listStuckJobs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/operator/restore": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The last restore of the control plane's database, and what each region waits for (operators)
         * @description `restore` is null when `kule-server restored` was never run on this database. A region is `waiting` for a complete
         *     scan, then `scanned`: it allocates and works again, and nothing is destroyed for reasons of before the restore.
         *     It is `ended` when an operator has said so (`PATCH /regions/{region}/restore`).
         */
        get: operations["getRestore"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/operator/held-vms": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * VMs that use numbers or addresses which the records have for free (operators)
         * @description Found by scans after a restore of the database: VMs that were created after the moment of the backup, and servers
         *     that were given addresses after it. What they use is given to nobody else while a scan sees it: VM numbers, VLANs,
         *     private and public addresses. Import such a VM (`POST /servers/import`) into its organisation, which gives it its
         *     former server id back, or remove it in the region: its numbers are released after the next complete scan.
         *     `disputed` is what the records have for another: look at both before you re-apply either.
         */
        get: operations["listHeldVms"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/operator/drift": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Where regions differ from the records (operators)
         * @description `changed`: a server's VM differs from the records. `missing`: a server's VM does not exist. `foreign`: a guest
         *     without Kule's marker has one of Kule's VM numbers. `extra`: a VM with Kule's marker belongs to no server. Each
         *     was found in two consecutive scans by the region's agent. Nothing here is ever changed or destroyed because of
         *     it; an entry is closed automatically when the region matches the records again.
         */
        get: operations["listDrift"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agent/jobs/claim": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Claim the next job of this region
         * @description The token determines the region. The same `claim_id` again answers the same job, so a lost reply loses nothing. The
         *     job is held for `lease_seconds`; every report renews it. With `wait_seconds` the call is parked until there is
         *     work. Kinds that are not in `capabilities` are left for a newer agent.
         */
        post: operations["claimJob"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agent/consoles/claim": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Claim the next console session of this region
         * @description A viewer has presented a ticket and waits. The agent that claims the session opens the hypervisor's console and,
         *     with the same token, one websocket to `/agent/consoles/{session_id}` of this API, subprotocol `kule.console.v1`,
         *     within `connect_seconds`; both end with the session. The same `claim_id` again answers the same session. With
         *     `wait_seconds` the call is parked until there is one.
         */
        post: operations["claimConsole"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agent/jobs/{job_id}/steps": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                job_id: components["parameters"]["JobId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Report progress or the outcome of a held job
         * @description Idempotent on (`epoch`, `seq`). Renews the lease. A job keeps its first 500 steps, and 1,000 characters of a step's
         *     message: a report beyond counts all the same, and its step is left out. With `outcome` it ends the job: the same transaction settles
         *     the resource, its allocations and usage. A report with an epoch that is not the current one changes nothing and
         *     answers 409 `stale_lease`: stop at once. A job of another region answers 404.
         */
        post: operations["reportStep"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agent/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Report the region's health
         * @description Sent every 20 seconds. Carries what the region has (templates, nodes) and the agent's public key.
         */
        post: operations["reportHealth"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agent/enrolment": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The certificate of the private authority that the API's own certificate is of
         * @description An agent that enrols reads it before it trusts anything, and uses it only when its SHA-256 is the one in the code.
         */
        get: operations["getEnrolmentAuthority"];
        put?: never;
        /**
         * Exchange a code of an operator for an agent token of its region
         * @description Works once for each code. Every code that gives nothing (invented, used or expired) answers the same 422.
         */
        post: operations["redeemEnrolment"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agent/inventory": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Report the inventory of the region
         * @description The agent scans its region again and again; one scan is a pass. A call without `pass` requests one: the answer has
         *     its number, or `null` while another agent of the region scans. The pass is then reported in batches, in their
         *     order, each recorded in one transaction; the last carries `end`. Only a pass that is `complete` and whose batches
         *     all arrived can show that a VM is missing. A batch of a pass that is not the region's current one changes nothing
         *     and answers `recorded: false`; the same batch again changes nothing either. A report about a server with an open
         *     job, or from before its last job ended, is ignored.
         */
        post: operations["reportInventory"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agent/load-balancers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Report the machines of load balancers and learn which to ask
         * @description In each round, every `round_seconds`, the agent asks all machines of the region's load balancers for their status. The
         *     first call of a round has `after: null`, each other one the `next` of the call before, until that is `null`; a call
         *     without `after` only reports. A call reports machines that were asked before, of any page. What a report
         *     names that is not a machine of that load balancer, in that slot and in this region, is ignored, and so is a reading
         *     that is not newer than the last one: a call may be repeated.
         */
        post: operations["reportLoadBalancers"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agent/release-keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The successors of the keys that releases of the agent are signed with
         * @description Each envelope is signed with a key of the generation before; the first one with a key that is in the agents' binaries.
         *     Without any, the keys in the binaries are the current ones.
         */
        get: operations["getAgentReleaseKeys"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agent/releases/{version}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                version: components["parameters"]["ReleaseVersion"];
            };
            cookie?: never;
        };
        /**
         * The signed manifest of a release of the agent
         * @description The control plane passes it on and vouches for nothing. The agent verifies the signature.
         */
        get: operations["getAgentRelease"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agent/releases/{version}/files/{architecture}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                version: components["parameters"]["ReleaseVersion"];
                architecture: components["parameters"]["ReleaseArchitecture"];
            };
            cookie?: never;
        };
        /**
         * The binary of a release of the agent
         * @description `Range: bytes=N-` answers what follows the first N bytes (206), so that an interrupted download is resumed. Any other
         *     range is ignored and answers the whole file. With an `If-Range` that is not the file's ETag, the whole file is answered
         *     too. So many downloads run at once; beyond, the answer is 429 with `Retry-After`.
         */
        get: operations["downloadAgentRelease"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        ApiIndex: {
            /** @example Kule */
            name: string;
            /** @example 0.1.0 */
            version: string;
            links: {
                [key: string]: string;
            };
        };
        Health: {
            /** @enum {string} */
            status: "ok";
        };
        AuditVerification: {
            /** @description Null when nothing was checked yet, or the worker has no key (`KULE_AUDIT_KEYS`) */
            whole: boolean | null;
            /** Format: date-time */
            checked_at: string | null;
            /** @description The last check is more than half an hour ago, or there was none */
            stale: boolean;
            /**
             * Format: date-time
             * @description Older entries were removed, because the installation keeps them for a limited time. Null when none were
             */
            kept_from: string | null;
            /**
             * Format: date-time
             * @description Entries until then were checked
             */
            up_to: string | null;
            first_break: components["schemas"]["AuditBreak"] | null;
            /** @description How many were found; at most 100 are kept */
            breaks: number;
        };
        AuditBreak: {
            /**
             * @description The entry was changed, removed, or added to the past; or its seal was changed, seals were removed (then
             *     it is unknown whose entries they covered, and every organisation sees it), or their key is not known.
             * @enum {string}
             */
            reason: "row_changed" | "row_removed" | "row_added" | "seal_changed" | "seals_removed" | "key_unknown";
            /** @description Place in the order of the seals; null for an entry without one. For operators only */
            position: number | null;
            /** @description Identifier of the entry (`aud_…`) */
            entry: string | null;
            /**
             * Format: date-time
             * @description The entry's own time, where there is one
             */
            at: string | null;
        };
        Readiness: {
            /**
             * @description `ok` when nothing is missing
             * @enum {string}
             */
            status: "ok" | "degraded";
            missing: {
                /** @enum {string} */
                part: "worker";
                detail: string;
            }[];
        };
        /**
         * @description Closed within a version of the contract; new codes may be added.
         * @enum {string}
         */
        ErrorCode: "malformed_json" | "unauthorized" | "forbidden" | "not_found" | "method_not_allowed" | "validation_failed" | "unsupported_media_type" | "payload_too_large" | "range_not_satisfiable" | "precondition_failed" | "rate_limited" | "idempotency_key_reused" | "idempotency_in_progress" | "organisation_suspended" | "resource_deleting" | "invalid_state" | "name_taken" | "duplicate_key" | "already_member" | "already_invited" | "proof_required" | "already_enrolled" | "not_enrolled" | "not_configured" | "last_owner" | "last_way_in" | "sign_in_refused" | "in_use" | "protected" | "cidr_overlap" | "domain_not_proven" | "domain_taken" | "ds_at_parent" | "network_full" | "vlan_exhausted" | "vmid_exhausted" | "subnet_exhausted" | "address_in_use" | "quota_exceeded" | "capacity_unavailable" | "vm_not_importable" | "disk_shrink_forbidden" | "guest_agent_unavailable" | "locked" | "managed" | "region_unavailable" | "tier_forbids_egress" | "subnet_no_egress" | "port_in_use" | "no_public_ip_available" | "range_overlap" | "already_attached" | "not_attached" | "region_mismatch" | "console_in_use" | "stale_lease" | "unavailable" | "internal_error";
        FieldError: {
            /**
             * @description Where: a path in the body (`ssh_key_ids[1]`), or a parameter's name
             * @example ssh_key_ids[1]
             */
            field: string;
            /** @enum {string} */
            code: "required" | "unknown_field" | "invalid_type" | "invalid_format" | "too_short" | "too_long" | "out_of_range" | "not_one_of" | "not_found" | "incorrect" | "too_easy" | "duplicate" | "immutable" | "conflicts_with" | "os_plan_mismatch";
            /** @example no such SSH key */
            message: string;
            /**
             * @description JSON pointer into the body, or the parameter's name
             * @example /ssh_key_ids/1
             */
            pointer: string;
        };
        /**
         * @description What must hold. Closed within a version of the contract; new names may be added.
         * @enum {string}
         */
        PreconditionName: "address_free" | "agent_key_is_pending" | "agent_releases_configured" | "agent_rollout_held" | "agent_rollout_open" | "agent_rollout_running" | "another_owner_remains" | "another_way_in" | "authenticator_app" | "authenticator_app_begun" | "ca_accepts_orders" | "ca_configured" | "certificate_managed" | "certificate_without_open_job" | "certificate_name_free" | "certificate_unused" | "certificate_uploaded" | "cidr_free" | "console_free" | "disk_not_shrunk" | "dns_configured" | "domain_has_room" | "domain_in_removal_buffer" | "domain_name_free" | "domain_not_deleting" | "domain_not_protected" | "domain_proven" | "domain_without_dependents" | "domains_pending_few" | "drift_can_be_put_right" | "ds_not_at_parent" | "email_domain_allowed" | "email_verified" | "firewall_attached_to_nothing" | "firewall_has_room" | "firewall_name_free" | "firewall_named_by_none" | "firewall_not_attached" | "gateway_forwards_nothing" | "gateway_has_room" | "gateway_name_free" | "gateway_not_deleting" | "first_region_updatable" | "guest_agent_answers" | "https_listener_not_needed" | "https_listener_present" | "idempotency_key_free" | "identity_is_free" | "installation_has_a_secret" | "installation_sends_mail" | "invitation_is_for_you" | "invited" | "ip_pool_addresses_free" | "ip_pool_has_free_addresses" | "ip_pool_name_free" | "ip_pool_range_apart" | "job_cancellable" | "job_retryable" | "lease_held" | "listener_port_free" | "load_balancer_has_listener_room" | "load_balancer_has_target_room" | "load_balancer_name_free" | "load_balancer_not_deleting" | "named_by_no_rule" | "network_empty" | "network_has_room" | "network_name_free" | "network_not_deleting" | "network_without_gateway" | "network_without_load_balancer" | "no_agent_rollout_open" | "no_authenticator_app" | "node_has_capacity" | "not_yet_a_member" | "not_yet_an_account" | "not_yet_invited" | "organisation_active" | "organisation_has_free_public_ip" | "organisation_has_room" | "organisation_slug_free" | "organisation_to_join" | "package_differs" | "panel_has_a_domain" | "panel_has_an_origin" | "port_forward_not_deleting" | "port_free" | "proven_recently" | "provider_agreed" | "public_address_free" | "public_ip_attached" | "public_ip_free" | "public_ip_in_region" | "public_ip_not_protected" | "public_ip_of_no_gateway" | "public_ip_of_no_load_balancer" | "public_ips_share_a_vlan" | "quota_certificates" | "quota_consoles_of_organisation" | "quota_consoles_of_user" | "quota_disk_gb" | "quota_domains" | "quota_firewall_rules" | "quota_firewalls" | "quota_gateways" | "quota_load_balancers" | "quota_members" | "quota_memory_mb" | "quota_networks" | "quota_public_ips" | "quota_servers" | "quota_ssh_keys" | "quota_subnets" | "quota_vcpu" | "region_agent_key_known" | "region_edge_known" | "region_has_agent" | "region_has_capacity" | "region_has_edge" | "region_has_free_vlan" | "region_has_free_vmid" | "region_open" | "region_scanned" | "region_scanned_since_restore" | "region_slug_free" | "region_was_restored" | "reservation_name_free" | "second_factor" | "server_has_its_vm" | "server_has_no_open_job" | "server_has_room" | "server_in_removal_buffer" | "server_in_right_state" | "server_may_restart" | "server_name_free" | "server_not_deleting" | "server_not_locked" | "server_not_managed" | "server_not_protected" | "server_running" | "server_steady" | "server_without_public_ip" | "ssh_key_name_free" | "ssh_key_new" | "subnet_empty" | "subnet_has_egress" | "subnet_has_free_address" | "subnet_has_free_vrid" | "subnet_may_have_egress" | "subnet_name_free" | "subnet_not_deleting" | "subnet_not_served" | "subnet_served" | "subnet_without_firewall" | "subnet_without_gateway" | "subnet_without_load_balancer" | "subnet_without_port_forwards" | "subnet_without_reservations" | "target_not_attached" | "token_is_a_session" | "token_is_live" | "vlan_range_covers_use" | "vlan_range_without_public_pools" | "vm_importable" | "vmid_free" | "vmid_range_covers_use";
        Precondition: {
            name: components["schemas"]["PreconditionName"];
            code: components["schemas"]["ErrorCode"];
            message: string;
            /** @description The id of the resource that prevents it */
            resource: string | null;
            /**
             * @description What would make it hold. Ids in it are real ones, never a placeholder in braces
             * @example PATCH /servers/srv_… {"protection":{"delete":false}}
             */
            fix: string | null;
            /** @description The figures of the full quota (409 quota_exceeded) */
            quota?: {
                name: components["schemas"]["QuotaName"];
                limit: number;
                used: number;
                /** @description How much more this request needs */
                asked: number;
            };
        };
        /** @description RFC 9457 problem details */
        Problem: {
            /** @example https://kule.dev/errors/name_taken */
            type: string;
            title: string;
            status: number;
            code: components["schemas"]["ErrorCode"];
            detail: string;
            /** @description The path that was called */
            instance: string;
            request_id: string;
            /** @description What is wrong (422). At most 100; names that are longer than 256 characters are cut */
            errors?: components["schemas"]["FieldError"][];
            /** @description How many more findings there are, when they are more than `errors` takes */
            errors_left_out?: number;
            precondition?: components["schemas"]["Precondition"];
            /** @description The missing permissions (403) */
            required?: string[];
            /** @description The status that forbids the action (409 invalid_state) */
            current_status?: string;
        };
        DryRun: {
            /** @constant */
            dry_run: true;
            /** @description What would be written; null when a precondition fails */
            would: {
                server: components["schemas"]["Server"];
                /** @description Of an attach or a detach */
                public_ip?: components["schemas"]["PublicIp"];
                job_kind: components["schemas"]["JobKind"] | null;
                created: components["schemas"]["CreatedAlong"] | null;
            } | null;
            blockers: components["schemas"]["Precondition"][];
        };
        /**
         * @description Up to 64 labels. Keys are up to 63 letters, digits, `-`, `_`, `.` (optionally with a DNS prefix and `/`), values up to 63.
         * @example {
         *       "role": "web"
         *     }
         */
        Labels: {
            [key: string]: string;
        };
        /** @description A value sets, null removes, labels that are not named stay. */
        LabelChanges: {
            [key: string]: string | null;
        };
        /**
         * Format: date-time
         * @example 2026-11-21T05:13:00.000Z
         */
        Time: string;
        /** @description Pass as `cursor` for the next page; null at the end */
        NextCursor: string | null;
        /** @example 10.20.1.0/24 */
        Cidr4: string;
        /** @example 10.20.1.14 */
        Address4: string;
        /**
         * @description An IPv4 or IPv6 address
         * @example 203.0.113.10
         */
        Address: string;
        /** @enum {string} */
        Role: "owner" | "admin" | "member" | "viewer" | "billing";
        Slug: string;
        DisplayName: string;
        Email: string;
        LoginRequest: {
            email: components["schemas"]["Email"];
            password: string;
            /** @description Which of the user's organisations the session is for */
            organisation_id?: string;
        };
        Session: {
            /**
             * @description Shown only here
             * @example kule_ses_…
             */
            token: string;
            expires_at: components["schemas"]["Time"];
            user: components["schemas"]["UserRef"];
            /** @description null for an operator without an organisation */
            organisation: components["schemas"]["OrganisationRef"] | null;
        };
        LoginSession: {
            /** @example tok_06ex2v3m8n4k6q1r5s7t9w0y2z */
            id: string;
            /** @description The session of this call */
            current: boolean;
            /** @description null for an operator without an organisation */
            organisation: components["schemas"]["OrganisationRef"] | null;
            /**
             * @description How the person proved their identity; `unknown` for sessions that are older than this field
             * @enum {string}
             */
            opened_by: "unknown" | "password" | "password_and_totp" | "password_and_recovery_code" | "password_and_passkey" | "passkey" | "oidc" | "oidc_and_totp" | "oidc_and_recovery_code" | "oidc_and_passkey";
            /** @description The name of the provider that identified the person (`oidc…`) */
            provider: string | null;
            /** @description The browser's User-Agent at sign-in */
            user_agent: string | null;
            /** @description Where the sign-in came from */
            source_address: string | null;
            created_at: components["schemas"]["Time"];
            /** @description To the minute */
            last_used_at: components["schemas"]["Time"] | null;
            /** @description Earlier when it is not used for two hours */
            expires_at: components["schemas"]["Time"];
        };
        LoginSessionList: {
            items: components["schemas"]["LoginSession"][];
            next_cursor: components["schemas"]["NextCursor"];
        };
        SessionsRevoked: {
            revoked: number;
        };
        PasswordChange: {
            /** @description Needed by a person with a password; the first password of a person who signs in with a provider needs a fresh proof instead */
            current_password?: string;
            new_password: string;
            /**
             * @description True: every token that the person has created ends as well, in all organisations
             * @default false
             */
            end_tokens?: boolean;
        };
        PasswordReset: {
            /**
             * @description Shown only here
             * @example kule_pwr_…
             */
            secret: string | null;
            expires_at: components["schemas"]["Time"];
            /** @description true on an idempotent replay */
            secret_withheld?: boolean;
        };
        PasswordResetRequest: {
            email: components["schemas"]["Email"];
            /**
             * @description Which language the mail is in
             * @default en
             * @enum {string}
             */
            language?: "en" | "tr";
        };
        PasswordResetConfirm: {
            secret: string;
            new_password: string;
            /**
             * @description True: every token that the person has created ends as well, in all organisations
             * @default false
             */
            end_tokens?: boolean;
        };
        SecondFactorNeeded: {
            /**
             * @description Shown only here; opens nothing by itself
             * @example sgn_…
             */
            sign_in: string;
            expires_at: components["schemas"]["Time"];
            methods: components["schemas"]["SecondFactorMethod"][];
        };
        /** @enum {string} */
        SecondFactorMethod: "totp" | "recovery_code" | "passkey";
        /** @example 492039 */
        TotpCode: string;
        /** @example k7qd-2m9x-ht4c-vw8e */
        RecoveryCode: string;
        SecondFactor: {
            sign_in: string;
            code?: components["schemas"]["TotpCode"];
            recovery_code?: components["schemas"]["RecoveryCode"];
            /** @description Which of the user's organisations the session is for */
            organisation_id?: string;
        };
        Proof: {
            password?: string;
            code?: components["schemas"]["TotpCode"];
            recovery_code?: components["schemas"]["RecoveryCode"];
            passkey?: {
                ceremony: components["schemas"]["PasskeyCeremonySecret"];
                response: components["schemas"]["PasskeyResponse"];
            };
            oidc?: components["schemas"]["OidcAnswer"];
        };
        TotpConfirm: {
            code: components["schemas"]["TotpCode"];
        };
        TotpEnrolment: {
            /** @description In base32, to be typed; null in a replay */
            secret: string | null;
            /** @description The same as a QR code holds it; null in a replay */
            otpauth_uri: string | null;
            secret_withheld?: boolean;
        };
        RecoveryCodes: {
            /** @description null when the person has codes already, and in a replay */
            recovery_codes: components["schemas"]["RecoveryCode"][] | null;
            secret_withheld?: boolean;
        };
        AccountSecurity: {
            /** @description False for a person who signs in only with a provider */
            has_password: boolean;
            password_changed_at: components["schemas"]["Time"] | null;
            /** @description null without an authenticator app */
            totp: {
                confirmed_at: components["schemas"]["Time"];
            } | null;
            passkeys: components["schemas"]["Passkey"][];
            identities: components["schemas"]["Identity"][];
            recovery_codes_left: number;
            /** @description When an operator reset the person's second factor, unless there is a new one */
            second_factor_reset_at: components["schemas"]["Time"] | null;
            /** @description Until when this session may change how the person signs in; null when a proof is needed */
            proven_until: components["schemas"]["Time"] | null;
        };
        PasskeyPurpose: {
            /** @enum {string} */
            purpose: "register" | "prove";
        };
        PasskeyCeremony: {
            /** @description To be sent back with what the browser answers */
            ceremony: string;
            /** @description WebAuthn's `publicKey` options as JSON: `PublicKeyCredential.parseCreationOptionsFromJSON` and `parseRequestOptionsFromJSON` take them */
            options: {
                [key: string]: unknown;
            };
        };
        /** @description The browser's `PublicKeyCredential` by its `toJSON()` */
        PasskeyResponse: {
            [key: string]: unknown;
        };
        PasskeyCeremonySecret: string;
        PasskeyName: string;
        PasskeyAdd: {
            ceremony: components["schemas"]["PasskeyCeremonySecret"];
            name: components["schemas"]["PasskeyName"];
            response: components["schemas"]["PasskeyResponse"];
        };
        PasskeyRename: {
            name: components["schemas"]["PasskeyName"];
        };
        PasskeyLoginBegin: {
            sign_in?: string;
        };
        PasskeyLogin: {
            ceremony: components["schemas"]["PasskeyCeremonySecret"];
            response: components["schemas"]["PasskeyResponse"];
            /** @description The sign-in whose second step this is */
            sign_in?: string;
            /** @description Which of the user's organisations the session is for */
            organisation_id?: string;
        };
        Passkey: {
            /** @example psk_06ex2v3m8n4k6q1r5s7t9w0y2z */
            id: string;
            name: string;
            /** @description It is synchronised between the person's devices, not bound to one */
            is_synced: boolean;
            created_at: components["schemas"]["Time"];
            last_used_at: components["schemas"]["Time"] | null;
        };
        /** @example example-id */
        OidcProviderSlug: string;
        OidcProvider: {
            id: components["schemas"]["OidcProviderSlug"];
            /**
             * @description What people call it
             * @example Example ID
             */
            label: string;
        };
        OidcProviderList: {
            items: components["schemas"]["OidcProvider"][];
            next_cursor: components["schemas"]["NextCursor"];
        };
        OidcLoginBegin: {
            provider: components["schemas"]["OidcProviderSlug"];
            /** @description An invitation's secret */
            invitation?: string;
        };
        IdentityBegin: {
            provider: components["schemas"]["OidcProviderSlug"];
            /** @enum {string} */
            purpose: "link" | "prove";
        };
        OidcAuthorization: {
            /** @description To be sent back with the provider's answer; keep it secret */
            flow: string;
            /** @description Where the browser goes */
            authorization_url: string;
            expires_at: components["schemas"]["Time"];
        };
        OidcFlow: string;
        /**
         * @description The query of the address that the provider sent the browser back to
         * @example code=…&state=…
         */
        OidcResponse: string;
        OidcAnswer: {
            flow: components["schemas"]["OidcFlow"];
            response: components["schemas"]["OidcResponse"];
        };
        OidcLogin: {
            flow: components["schemas"]["OidcFlow"];
            response: components["schemas"]["OidcResponse"];
            /** @description Which of the user's organisations the session is for */
            organisation_id?: string;
        };
        Identity: {
            /** @example idn_06ex2v3m8n4k6q1r5s7t9w0y2z */
            id: string;
            /** @description null for a provider that the installation no longer has: it cannot be used */
            provider: components["schemas"]["OidcProvider"] | null;
            /** @example https://id.example */
            issuer: string;
            /** @description The person's name or e-mail at the provider, at the last sign-in */
            email: string | null;
            created_at: components["schemas"]["Time"];
            last_used_at: components["schemas"]["Time"] | null;
        };
        PasskeyAdded: {
            passkey: components["schemas"]["Passkey"];
            /** @description null when the person has codes already, and in a replay */
            recovery_codes: components["schemas"]["RecoveryCode"][] | null;
            secret_withheld?: boolean;
        };
        UserRef: {
            id: string;
            email: string;
            name: string;
        };
        OrganisationRef: {
            id: string;
            slug: string;
            name: string;
        };
        Me: {
            /** @enum {string} */
            actor: "user" | "token" | "operator" | "agent";
            user: components["schemas"]["UserRef"] | null;
            organisation: components["schemas"]["OrganisationRef"] | null;
            role: components["schemas"]["Role"] | null;
            /**
             * @example [
             *       "server:read",
             *       "server:create"
             *     ]
             */
            permissions: string[];
            /** @description The region an agent token is bound to */
            region: string | null;
            token: {
                id: string;
                name: string;
                scopes: string[];
                expires_at: components["schemas"]["Time"] | null;
            };
        };
        Organisation: {
            /** @example org_06ex2v3m8n4k6q1r5s7t9w0y2z */
            id: string;
            slug: string;
            name: string;
            /** @enum {string} */
            status: "active" | "suspended";
            limits: {
                servers: components["schemas"]["ServerLimit"];
            };
            generation: number;
            created_at: components["schemas"]["Time"];
            updated_at: components["schemas"]["Time"];
        };
        OrganisationList: {
            items: components["schemas"]["Organisation"][];
            next_cursor: components["schemas"]["NextCursor"];
        };
        OrganisationCreate: {
            slug: components["schemas"]["Slug"];
            name: components["schemas"]["DisplayName"];
            limits?: components["schemas"]["OrganisationLimitsChange"];
        };
        OrganisationUpdate: {
            name?: components["schemas"]["DisplayName"];
            /** @enum {string} */
            status?: "active" | "suspended";
            limits?: components["schemas"]["OrganisationLimitsChange"];
        };
        /** @description Most servers the organisation may have, those in the removal buffer included; null is no limit */
        ServerLimit: number | null;
        /** @description Limits that are left out stay as they are. Lowering one below what is used deletes nothing. */
        OrganisationLimitsChange: {
            servers?: components["schemas"]["ServerLimit"];
        };
        /** @enum {string} */
        QuotaName: "servers" | "vcpu" | "memory_mb" | "disk_gb" | "networks" | "subnets" | "ssh_keys" | "public_ips" | "firewalls" | "firewall_rules" | "gateways" | "members" | "domains" | "certificates" | "load_balancers";
        /** @description Most of it; null is no limit */
        QuotaLimit: number | null;
        Quota: {
            name: components["schemas"]["QuotaName"];
            limit: components["schemas"]["QuotaLimit"];
            /** @description May be above a limit that was lowered */
            used: number;
            /** @description The part of used that servers in the removal buffer hold */
            reserved: number;
            /** @enum {string} */
            unit: "count" | "MB" | "GB";
        };
        QuotaList: {
            items: components["schemas"]["Quota"][];
            next_cursor: components["schemas"]["NextCursor"];
        };
        QuotasSet: {
            limits: {
                servers?: components["schemas"]["QuotaLimit"];
                vcpu?: components["schemas"]["QuotaLimit"];
                memory_mb?: components["schemas"]["QuotaLimit"];
                disk_gb?: components["schemas"]["QuotaLimit"];
                networks?: components["schemas"]["QuotaLimit"];
                subnets?: components["schemas"]["QuotaLimit"];
                ssh_keys?: components["schemas"]["QuotaLimit"];
                public_ips?: components["schemas"]["QuotaLimit"];
                firewalls?: components["schemas"]["QuotaLimit"];
                firewall_rules?: components["schemas"]["QuotaLimit"];
                gateways?: components["schemas"]["QuotaLimit"];
                members?: components["schemas"]["QuotaLimit"];
                domains?: components["schemas"]["QuotaLimit"];
                certificates?: components["schemas"]["QuotaLimit"];
                load_balancers?: components["schemas"]["QuotaLimit"];
            };
        };
        Member: {
            /** @example mem_06ex2v3m8n4k6q1r5s7t9w0y2z */
            id: string;
            user: components["schemas"]["UserRef"];
            role: components["schemas"]["Role"];
            /** @description Whether the person has a second factor; null for callers who may not manage members */
            second_factor: boolean | null;
            created_at: components["schemas"]["Time"];
        };
        MemberList: {
            items: components["schemas"]["Member"][];
            next_cursor: components["schemas"]["NextCursor"];
        };
        MemberUpdate: {
            role: components["schemas"]["Role"];
        };
        /** @enum {string} */
        InvitationStatus: "open" | "accepted" | "expired" | "revoked";
        Invitation: {
            /** @example inv_06ex2v3m8n4k6q1r5s7t9w0y2z */
            id: string;
            email: string;
            role: components["schemas"]["Role"];
            status: components["schemas"]["InvitationStatus"];
            invited_by: components["schemas"]["Actor"];
            created_at: components["schemas"]["Time"];
            expires_at: components["schemas"]["Time"];
            accepted_at: components["schemas"]["Time"] | null;
            revoked_at: components["schemas"]["Time"] | null;
        };
        InvitationList: {
            items: components["schemas"]["Invitation"][];
            next_cursor: components["schemas"]["NextCursor"];
        };
        InvitationCreate: {
            email: components["schemas"]["Email"];
            role: components["schemas"]["Role"];
            /** @default 7 */
            expires_in_days?: number;
        };
        InvitationWithSecret: {
            invitation: components["schemas"]["Invitation"];
            /**
             * @description Shown only here
             * @example kule_inv_…
             */
            secret: string | null;
            /** @description true on an idempotent replay */
            secret_withheld?: boolean;
        };
        InvitationSecret: {
            secret: string;
        };
        InvitationOffer: {
            organisation: components["schemas"]["OrganisationRef"];
            email: string;
            role: components["schemas"]["Role"];
            /** @description The name of the inviter */
            invited_by: string | null;
            expires_at: components["schemas"]["Time"];
        };
        InvitationAcceptance: {
            secret: string;
            name: components["schemas"]["DisplayName"];
            password: string;
        };
        OrganisationJoined: {
            organisation: components["schemas"]["OrganisationRef"];
            member: components["schemas"]["Member"];
        };
        OrganisationSwitch: {
            organisation_id: string;
        };
        MyOrganisation: {
            id: string;
            slug: string;
            name: string;
            role: components["schemas"]["Role"];
            /** @description The one that this token acts in */
            current: boolean;
        };
        MyOrganisationList: {
            items: components["schemas"]["MyOrganisation"][];
            next_cursor: components["schemas"]["NextCursor"];
        };
        /** @example server:* */
        Scope: string;
        Token: {
            /** @example tok_06ex2v3m8n4k6q1r5s7t9w0y2z */
            id: string;
            /** @enum {string} */
            kind: "organisation" | "operator" | "agent" | "session";
            name: string;
            /**
             * @description The token's public beginning
             * @example kule_pat_06ex2v3m8n4k6q1r5s7t9w0y2z
             */
            prefix: string;
            role: components["schemas"]["Role"] | null;
            scopes: components["schemas"]["Scope"][];
            region: string | null;
            /** @description The user or token that created it */
            created_by: string | null;
            created_at: components["schemas"]["Time"];
            expires_at: components["schemas"]["Time"] | null;
            /** @description To the minute */
            last_used_at: components["schemas"]["Time"] | null;
            /** @description Why an operator entered the organisation by it, or by the token that created it; null for all others */
            operator_reason: string | null;
            revoked_at: components["schemas"]["Time"] | null;
        };
        TokenList: {
            items: components["schemas"]["Token"][];
            next_cursor: components["schemas"]["NextCursor"];
        };
        TokenCreate: {
            name: components["schemas"]["DisplayName"];
            /** @description Default: member, or the caller's role when that is less */
            role?: components["schemas"]["Role"];
            /** @description Default: all permissions of the role */
            scopes?: components["schemas"]["Scope"][];
            /** @description Default: 90. An operator's token for an organisation lasts for one day */
            expires_in_days?: number;
            reason?: components["schemas"]["EntryReason"];
        };
        TokenWithSecret: {
            token: components["schemas"]["Token"];
            /**
             * @description The whole token, shown only here
             * @example kule_pat_…
             */
            secret: string | null;
            /** @description true on an idempotent replay */
            secret_withheld?: boolean;
        };
        TokenRotate: {
            overlap_seconds?: number;
            reason?: components["schemas"]["EntryReason"];
        };
        /**
         * @description Needed by an operator who mints or rotates a token of an organisation: why they enter it. The organisation reads it
         *     in its list of tokens and in its audit trail.
         */
        EntryReason: string;
        AgentTokenRotate: {
            overlap_seconds?: number;
        };
        AgentTokenCreate: {
            name: components["schemas"]["DisplayName"];
        };
        EnrolmentWithCode: {
            region: components["schemas"]["Slug"];
            /**
             * @description Where the agent reaches this API
             * @example https://kule.example/api/v1
             */
            api_url: string;
            expires_at: components["schemas"]["Time"];
            /**
             * @description Shown only here
             * @example kule_enr_…
             */
            code: string | null;
            /** @description true on an idempotent replay */
            secret_withheld?: boolean;
        };
        EnrolmentAuthority: {
            /** @description In PEM */
            certificate: string | null;
        };
        EnrolmentRedemption: {
            /** @description The code up to its dot, without the SHA-256 that may follow */
            secret: string;
            name: components["schemas"]["DisplayName"];
        };
        Enrolled: {
            region: components["schemas"]["Slug"];
            token: components["schemas"]["Token"];
            /**
             * @description The agent's token, shown only here
             * @example kule_agent_…
             */
            secret: string;
        };
        AuditEntry: {
            id: string;
            at: components["schemas"]["Time"];
            actor: components["schemas"]["Actor"];
            /** @example server.create */
            action: string;
            /** @description Id of the resource */
            resource: string | null;
            organisation_id: string | null;
            /** @enum {string} */
            outcome: "succeeded" | "refused" | "failed";
            http_status: number;
            /** @description The error code of a refusal */
            code: string | null;
            request_id: string;
            source_address: string | null;
            /** @description The request, without secrets */
            details: {
                [key: string]: unknown;
            };
        };
        AuditList: {
            items: components["schemas"]["AuditEntry"][];
            next_cursor: components["schemas"]["NextCursor"];
        };
        Actor: {
            /** @enum {string} */
            type: "user" | "token" | "operator" | "agent" | "system" | "anonymous";
            id: string | null;
            name: string | null;
        };
        Catalog: {
            images: components["schemas"]["Image"][];
            packages: components["schemas"]["CatalogPackage"][];
            regions: components["schemas"]["CatalogRegion"][];
        };
        CatalogPackage: {
            /** @enum {string} */
            slug: "s" | "m" | "l" | "xl" | "xxl" | "xxxl";
            vcpu: number;
            memory_mb: number;
            disk_gb: number;
            /** @description Where one more fits now, in the regions this organisation may use */
            regions: {
                slug: string;
                available: boolean;
                reason: components["schemas"]["PlacementReason"] | null;
            }[];
        };
        /**
         * @description `capacity`: no node has the capacity; `maintenance`: an operator's choice; `silent`: the region has stopped reporting, so a create is accepted and waits until it is back, and what needs the region at once answers 503; `unknown`: the region has not reported its capacity lately, so a create is accepted and may wait
         * @enum {string}
         */
        PlacementReason: "capacity" | "maintenance" | "silent" | "unknown";
        CatalogCheck: {
            /** @description May be left out when there is only one */
            region?: string;
            image: string;
            package: string;
            /** @default 1 */
            count?: number;
        };
        CatalogAnswer: {
            region: string;
            /** @description How many of them fit, as far as is known */
            placeable: boolean;
            /** @description The region has reported its capacity lately */
            known: boolean;
            /** @description How many fit in total; null when not known */
            fits: number | null;
            reason: components["schemas"]["PlacementReason"] | null;
        };
        Image: {
            /** @example ubuntu-24.04 */
            slug: string;
            /** @example Ubuntu 24.04 LTS */
            name: string;
            /** @enum {string} */
            os_family: "linux" | "windows";
            distribution: string;
            version: string;
            min_memory_mb: number;
            min_disk_gb: number;
            /** @description Who the SSH keys and the console password are for */
            default_user: string;
            /** @enum {string} */
            console: "serial" | "vnc";
            /** @description Packages big enough for this image */
            packages_allowed: string[];
            /** @description Visible regions that have it */
            regions: string[];
        };
        Package: {
            /** @enum {string} */
            slug: "s" | "m" | "l" | "xl" | "xxl" | "xxxl";
            vcpu: number;
            memory_mb: number;
            disk_gb: number;
        };
        CatalogRegion: {
            /** @example ist1 */
            slug: string;
            name: string;
            country: string | null;
            status: components["schemas"]["RegionStatus"];
            status_since: components["schemas"]["Time"] | null;
        };
        /**
         * @description `ok`; `degraded` (the agent reports trouble); `unreachable` (no health report for a minute, or never); `maintenance` (an operator's choice)
         * @enum {string}
         */
        RegionStatus: "ok" | "degraded" | "unreachable" | "maintenance";
        IntegerRange: {
            first: number;
            last: number;
        };
        Region: {
            slug: string;
            name: string;
            country: string | null;
            /**
             * @description Who drives the hypervisor: the region's agent, or the control plane's worker, which then holds the hypervisor's token
             * @enum {string}
             */
            mode: "agent" | "direct";
            status: components["schemas"]["RegionStatus"];
            maintenance: boolean;
            /** @description Only these organisations see it; null: all do */
            restricted_to: string[] | null;
            vmid_range: components["schemas"]["IntegerRange"];
            vlan_range: components["schemas"]["IntegerRange"];
            /** @description The last health report, null before the first */
            agent: {
                version: string;
                reported_at: components["schemas"]["Time"];
                hypervisor: components["schemas"]["HypervisorHealth"];
                templates: components["schemas"]["TemplateHealth"][];
            } | null;
            /** @description The agents of the region that reported in the last minute */
            agents: components["schemas"]["RegionAgent"][];
            /** @description The open rollout of an agent release, null without one */
            rollout: {
                id: string;
                version: components["schemas"]["AgentVersion"];
                state: components["schemas"]["AgentRolloutRegionState"];
            } | null;
            /** @description The machine that routes private networks, null when the region has none */
            edge?: {
                reachable: boolean;
                message: string | null;
                reported_at: components["schemas"]["Time"];
                /** @description That have a namespace there */
                networks: number;
                /** @description Namespaces with Kule's name prefix whose network does not exist. They are not removed automatically */
                unknown_networks: string[];
            } | null;
            /** @description The public key that secrets for the region are sealed to, null before an agent has reported one */
            agent_key?: components["schemas"]["AgentKey"] | null;
            jobs: {
                queued: number;
                running: number;
            };
            generation: number;
            created_at: components["schemas"]["Time"];
            updated_at: components["schemas"]["Time"];
        };
        AgentKey: {
            fingerprint: components["schemas"]["KeyFingerprint"];
            since: components["schemas"]["Time"] | null;
            last_reported_at: components["schemas"]["Time"] | null;
            /** @description Another key that an agent reports, until an operator approves or refuses it */
            pending: {
                fingerprint: components["schemas"]["KeyFingerprint"];
                since: components["schemas"]["Time"];
                last_reported_at: components["schemas"]["Time"];
                /** @description The agent token that it was reported with */
                token_id: string | null;
                agent_name: string | null;
            } | null;
        };
        /** @description SHA-256 of the key's 32 bytes, in base64 without padding */
        KeyFingerprint: string;
        AgentKeyApproval: {
            fingerprint: components["schemas"]["KeyFingerprint"];
        };
        RegionList: {
            items: components["schemas"]["Region"][];
            next_cursor: components["schemas"]["NextCursor"];
        };
        VmidRange: {
            first: number;
            last: number;
        };
        VlanRange: {
            first: number;
            last: number;
        };
        RegionCreate: {
            slug: components["schemas"]["Slug"];
            name: components["schemas"]["DisplayName"];
            country?: string;
            /**
             * @description direct: the worker does the region's jobs, and needs its region file; it stays so
             * @default agent
             * @enum {string}
             */
            mode?: "agent" | "direct";
            vmid_range: components["schemas"]["VmidRange"];
            vlan_range: components["schemas"]["VlanRange"];
            restricted_to?: string[] | null;
        };
        RegionUpdate: {
            name?: components["schemas"]["DisplayName"];
            country?: string | null;
            maintenance?: boolean;
            restricted_to?: string[] | null;
            vmid_range?: components["schemas"]["VmidRange"];
            vlan_range?: components["schemas"]["VlanRange"];
        };
        SshKey: {
            /** @example key_06ex2v3m8n4k6q1r5s7t9w0y2z */
            id: string;
            name: string;
            /** @description Type and key, without the comment */
            public_key: string;
            /** @example SHA256:nThbg6kXUpJWGl7E1IGOCspRomTxdCARLviKw6E5SY8 */
            fingerprint_sha256: string;
            /** @example 16:27:ac:a5:76:28:2d:36:63:1b:56:4d:eb:df:a6:48 */
            fingerprint_md5: string;
            /** @enum {string} */
            type: "ed25519" | "ecdsa" | "rsa" | "sk-ed25519" | "sk-ecdsa";
            bits: number;
            comment: string;
            labels: components["schemas"]["Labels"];
            /** @description Servers that were given the key and are not destroyed, the newest first, at most 100; empty without server:read. They keep it whatever happens to the key here */
            used_by_servers: string[];
            /** @description How many there are */
            used_by_server_count: number;
            /** @description Who added it; null for a key that was added before this was recorded */
            created_by: components["schemas"]["Actor"] | null;
            /** @description When a server last got it, at its creation or a rebuild; null when none ever did */
            last_used_at: components["schemas"]["Time"] | null;
            generation: number;
            created_at: components["schemas"]["Time"];
            updated_at: components["schemas"]["Time"];
        };
        SshKeyList: {
            items: components["schemas"]["SshKey"][];
            next_cursor: components["schemas"]["NextCursor"];
        };
        SshKeyCreate: {
            name: components["schemas"]["DisplayName"];
            public_key: string;
            labels?: components["schemas"]["Labels"];
        };
        SshKeyUpdate: {
            name?: components["schemas"]["DisplayName"];
            labels?: components["schemas"]["LabelChanges"];
        };
        /**
         * @description In a region with an edge: `provisioning` and `updating` until the edge has it, `deleting` until the edge has removed it, `error` when the job failed. Without an edge always `active`
         * @enum {string}
         */
        NetworkStatus: "provisioning" | "active" | "updating" | "deleting" | "error";
        NetworkStatusReason: {
            /** @enum {string} */
            code: "apply_failed";
            message: string;
            /** @description Retried with `POST /jobs/{job_id}/retry` */
            job_id: string;
        };
        Network: {
            /** @example net_06ex2v3m8n4k6q1r5s7t9w0y2z */
            id: string;
            name: string;
            region: string;
            cidr: components["schemas"]["Cidr4"];
            description: string;
            /** @description Servers with no subnet named go here */
            is_default: boolean;
            status: components["schemas"]["NetworkStatus"];
            /** @description Why the region's edge does not have the wanted state; null while it does, or is about to */
            status_reason?: components["schemas"]["NetworkStatusReason"] | null;
            subnets: {
                id: string;
                name: string;
                tier: components["schemas"]["Tier"];
                cidr: components["schemas"]["Cidr4"];
            }[];
            usage: components["schemas"]["AddressUsage"];
            labels: components["schemas"]["Labels"];
            /** @description Of what is wanted */
            generation: number;
            /** @description Of what was last applied in the region */
            observed_generation: number;
            created_at: components["schemas"]["Time"];
            updated_at: components["schemas"]["Time"];
        };
        AddressUsage: {
            /** @description That servers can have: used, reserved and free ones */
            addresses_total: number;
            /** @description By servers, or in quarantine */
            addresses_used: number;
            /** @description Of the used ones, those in quarantine */
            addresses_quarantined: number;
            /** @description Kept by reservations, and neither used nor in quarantine */
            addresses_reserved: number;
            /** @description That can be assigned to a server now */
            addresses_free: number;
        };
        NetworkList: {
            items: components["schemas"]["Network"][];
            next_cursor: components["schemas"]["NextCursor"];
        };
        ResourceName: string;
        NetworkCreate: {
            name: components["schemas"]["ResourceName"];
            region?: components["schemas"]["Slug"];
            /** @description A private range (RFC 1918) from /8 to /28. Default: the next free /16 */
            cidr?: components["schemas"]["Cidr4"];
            description?: string;
            labels?: components["schemas"]["Labels"];
        };
        NetworkUpdate: {
            name?: components["schemas"]["ResourceName"];
            description?: string;
            labels?: components["schemas"]["LabelChanges"];
        };
        /** @description Done at once. A change that needs the region answers 202 with a job */
        NothingQueued: {
            job?: null;
        };
        NetworkAndJob: {
            network: components["schemas"]["Network"];
            job: components["schemas"]["Job"] | null;
        };
        /** @enum {string} */
        Tier: "app" | "mgmt" | "data";
        Subnet: {
            /** @example sub_06ex2v3m8n4k6q1r5s7t9w0y2z */
            id: string;
            network_id: string;
            name: string;
            region: string;
            tier: components["schemas"]["Tier"];
            cidr: components["schemas"]["Cidr4"];
            gateway_ip: components["schemas"]["Address4"];
            dns_servers: string[];
            /**
             * @description Internet access through the region's edge: `none` until a gateway serves the subnet; `forbidden` for tier data, always
             * @enum {string}
             */
            egress: "none" | "gateway" | "forbidden";
            /** @description Shown to operators only */
            vlan: number | null;
            status: components["schemas"]["NetworkStatus"];
            /** @description Why the region's edge does not have the wanted state; null while it does, or is about to */
            status_reason?: components["schemas"]["NetworkStatusReason"] | null;
            usage: components["schemas"]["AddressUsage"];
            labels: components["schemas"]["Labels"];
            generation: number;
            observed_generation: number;
            created_at: components["schemas"]["Time"];
            updated_at: components["schemas"]["Time"];
        };
        SubnetList: {
            items: components["schemas"]["Subnet"][];
            next_cursor: components["schemas"]["NextCursor"];
        };
        SubnetCreate: {
            name: components["schemas"]["ResourceName"];
            tier: components["schemas"]["Tier"];
            /** @description Inside the network, from /16 to /29. Default: the next free /24 */
            cidr?: components["schemas"]["Cidr4"];
            dns_servers?: components["schemas"]["Address4"][];
            labels?: components["schemas"]["Labels"];
        };
        SubnetUpdate: {
            name?: components["schemas"]["ResourceName"];
            dns_servers?: components["schemas"]["Address4"][];
            labels?: components["schemas"]["LabelChanges"];
        };
        SubnetAndJob: {
            subnet: components["schemas"]["Subnet"];
            job: components["schemas"]["Job"] | null;
        };
        /**
         * @description `used` by a server; kept by a reservation (`reserved`); `quarantined` after its last use, with a reservation or without; of the `platform`, never a server's
         * @enum {string}
         */
        AddressState: "used" | "reserved" | "quarantined" | "platform";
        SubnetAddress: {
            address: components["schemas"]["Address4"];
            state: components["schemas"]["AddressState"];
            /** @description What the platform uses it for; null for others */
            role: ("network" | "gateway" | "broadcast") | null;
            /** @description Who has it */
            server: components["schemas"]["AddressHolder"] | null;
            /** @description Who keeps it */
            reservation: components["schemas"]["AddressHolder"] | null;
            /** @description Of its state */
            since: components["schemas"]["Time"];
            /** @description End of quarantine; a port that is still forwarded to it extends it */
            free_after: components["schemas"]["Time"] | null;
        };
        AddressHolder: {
            id: string;
            name: string;
        };
        SubnetAddressList: {
            items: components["schemas"]["SubnetAddress"][];
            next_cursor: components["schemas"]["NextCursor"];
        };
        Reservation: {
            /** @example rsv_06ex2v3m8n4k6q1r5s7t9w0y2z */
            id: string;
            network_id: string;
            subnet_id: string;
            region: string;
            name: string;
            description: string;
            address: components["schemas"]["Address4"];
            /**
             * @description `reserved` while no server has it; `quarantined` for a while after one had it
             * @enum {string}
             */
            state: "reserved" | "used" | "quarantined";
            /** @description Who has it */
            server: components["schemas"]["AddressHolder"] | null;
            labels: components["schemas"]["Labels"];
            generation: number;
            created_at: components["schemas"]["Time"];
            updated_at: components["schemas"]["Time"];
        };
        ReservationList: {
            items: components["schemas"]["Reservation"][];
            next_cursor: components["schemas"]["NextCursor"];
        };
        ReservationCreate: {
            name: components["schemas"]["ResourceName"];
            /** @description A free address of the subnet. Default: the lowest free one */
            address?: components["schemas"]["Address4"];
            description?: string;
            labels?: components["schemas"]["Labels"];
        };
        ReservationUpdate: {
            name?: components["schemas"]["ResourceName"];
            description?: string;
            labels?: components["schemas"]["LabelChanges"];
        };
        /** @enum {string} */
        FirewallRuleProtocol: "tcp" | "udp" | "icmp" | "icmpv6" | "any";
        /**
         * @description Whom a rule is about, one of: any address; a block; the addresses of a subnet or a network, which mean something
         *     to servers of that network only; the servers that a firewall is attached to; the servers with certain labels.
         *     Servers are meant with their private addresses, for servers of their network, and with their public ones.
         */
        FirewallPeer: {
            /** @constant */
            any?: true;
            /** @description IPv4 or IPv6 in slash notation */
            cidr?: string;
            subnet_id?: string;
            network_id?: string;
            firewall_id?: string;
            label_selector?: string;
        };
        /** @description TCP and UDP only; left out or empty, all of them. At most 15 numbers, and a range counts as two */
        FirewallPorts: string[];
        FirewallRuleInput: {
            /**
             * @default in
             * @enum {string}
             */
            direction?: "in" | "out";
            /**
             * @default allow
             * @enum {string}
             */
            action?: "allow" | "deny";
            protocol: components["schemas"]["FirewallRuleProtocol"];
            ports?: components["schemas"]["FirewallPorts"];
            peers: components["schemas"]["FirewallPeer"][];
            /**
             * @description Rules apply in ascending order, over all firewalls of a server; of two equals the one that denies is first
             * @default 1000
             */
            priority?: number;
            /** @default  */
            description?: string;
            /** @default true */
            enabled?: boolean;
        };
        FirewallRuleUpdate: {
            /** @enum {string} */
            direction?: "in" | "out";
            /** @enum {string} */
            action?: "allow" | "deny";
            protocol?: components["schemas"]["FirewallRuleProtocol"];
            ports?: components["schemas"]["FirewallPorts"];
            peers?: components["schemas"]["FirewallPeer"][];
            priority?: number;
            description?: string;
            enabled?: boolean;
            /** @description Its place in the list, from 0; beyond the last one is the end */
            position?: number;
        };
        FirewallRule: {
            id: string;
            /** @enum {string} */
            direction: "in" | "out";
            /** @enum {string} */
            action: "allow" | "deny";
            protocol: components["schemas"]["FirewallRuleProtocol"];
            ports: string[];
            peers: components["schemas"]["FirewallPeer"][];
            priority: number;
            description: string;
            enabled: boolean;
        };
        FirewallAttachment: {
            id: string;
            /** @enum {string} */
            type: "server" | "subnet" | "label_selector";
            server_id: string | null;
            subnet_id: string | null;
            label_selector: string | null;
            /** @description The server's name, or the network's and the subnet's (`default/app`); null for a label selector, and for callers who may not see servers or networks */
            name: string | null;
            /**
             * @description Whether all servers of the firewall have their rules; `failed` when a job that applies them has failed, and the old rules are in force
             * @enum {string}
             */
            status: "applied" | "pending" | "failed";
            /** @description How many servers it applies to now */
            servers: number;
            created_at: components["schemas"]["Time"];
        };
        PlatformRule: {
            /** @example own_addresses */
            name: string;
            /** @enum {string} */
            direction: "in" | "out";
            /** @enum {string} */
            action: "allow" | "deny";
            description: string;
        };
        Firewall: {
            id: string;
            name: string;
            region: string;
            description: string;
            rules: components["schemas"]["FirewallRule"][];
            /** @description Rules for every server that no firewall can change */
            platform_rules: components["schemas"]["PlatformRule"][];
            attachments: components["schemas"]["FirewallAttachment"][];
            labels: components["schemas"]["Labels"];
            generation: number;
            created_at: components["schemas"]["Time"];
            updated_at: components["schemas"]["Time"];
        };
        FirewallList: {
            items: components["schemas"]["Firewall"][];
            next_cursor: components["schemas"]["NextCursor"];
        };
        FirewallCreate: {
            name: components["schemas"]["ResourceName"];
            region?: components["schemas"]["Slug"];
            description?: string;
            rules?: components["schemas"]["FirewallRuleInput"][];
            labels?: components["schemas"]["Labels"];
        };
        FirewallUpdate: {
            name?: components["schemas"]["ResourceName"];
            description?: string;
            labels?: components["schemas"]["LabelChanges"];
        };
        FirewallRulesSet: {
            rules: components["schemas"]["FirewallRuleInput"][];
        };
        FirewallAttach: {
            server_id?: string;
            subnet_id?: string;
            label_selector?: string;
        };
        FirewallAndJob: {
            firewall: components["schemas"]["Firewall"];
            /** @description The first of the jobs; null when no server needs new rules now */
            job: components["schemas"]["Job"] | null;
            /** @description One `FirewallApply` for each server that gets new rules. A server with a job under way gets them when that has ended */
            job_ids: string[];
        };
        /**
         * @description `provisioning` until the region's edge has it, then `active`; `updating` while the edge does not have the last change; `deleting` until the edge has removed it; `error` when its job has failed (see `status_reason`), and the former state is in force
         * @enum {string}
         */
        GatewayStatus: "provisioning" | "active" | "updating" | "deleting" | "error";
        GatewaySubnet: {
            subnet_id: string;
            name: string;
            cidr: components["schemas"]["Cidr4"];
            /**
             * @description `ready` when it has internet access; one that is `detaching` still has it
             * @enum {string}
             */
            status: "attaching" | "ready" | "detaching";
        };
        Gateway: {
            /** @example gw_06ex2v3m8n4k6q1r5s7t9w0y2z */
            id: string;
            name: string;
            region: string;
            network_id: string;
            description: string;
            status: components["schemas"]["GatewayStatus"];
            status_reason: {
                /** @example apply_failed */
                code: string;
                message: string;
                job_id: string | null;
            } | null;
            /** @description Everything that leaves by the gateway has this address */
            public_ip: {
                id: string;
                address: components["schemas"]["Address4"];
            };
            subnets: components["schemas"]["GatewaySubnet"][];
            /** @description How many ports it forwards */
            port_forwards: number;
            labels: components["schemas"]["Labels"];
            /** @description Which actions are possible now, and why the others are not */
            actions: {
                attach_subnet: components["schemas"]["ActionState"];
                forward_port: components["schemas"]["ActionState"];
                delete: components["schemas"]["ActionState"];
            };
            /** @description The open job that applies it at the region's edge */
            job_id: string | null;
            /** @description Of what is wanted */
            generation: number;
            /** @description Of what the region's edge has; 0 before it has anything */
            observed_generation: number;
            created_at: components["schemas"]["Time"];
            updated_at: components["schemas"]["Time"];
        };
        GatewayList: {
            items: components["schemas"]["Gateway"][];
            next_cursor: components["schemas"]["NextCursor"];
        };
        GatewayCreate: {
            name: components["schemas"]["ResourceName"];
            /** @description Its region is the gateway's */
            network_id: string;
            /** @description Subnets of the network that it serves from the start */
            subnet_ids?: string[];
            /** @description One of the allocated addresses that is not reserved. Not with `public_ip` */
            address?: components["schemas"]["Address4"];
            /**
             * @description An id: this public IPv4 address of the organisation, which no server and no gateway has. It stays reserved when the gateway is deleted. Default `auto`: a free one is reserved, and released with the gateway
             * @example auto
             */
            public_ip?: string;
            description?: string;
            labels?: components["schemas"]["Labels"];
        };
        GatewayUpdate: {
            name?: components["schemas"]["ResourceName"];
            description?: string;
            labels?: components["schemas"]["LabelChanges"];
        };
        GatewayAttach: {
            subnet_id: string;
        };
        GatewayAndJob: {
            gateway: components["schemas"]["Gateway"];
            /** @description The job that applies it at the region's edge; null when the edge needs no change */
            job: components["schemas"]["Job"] | null;
        };
        PortForward: {
            /** @example pf_06ex2v3m8n4k6q1r5s7t9w0y2z */
            id: string;
            gateway_id: string;
            /** @enum {string} */
            protocol: "tcp" | "udp";
            /** @description Of the gateway's address */
            listen_port: number;
            server_id: string;
            /** @description Of the server */
            target_address: components["schemas"]["Address4"];
            target_port: number;
            description: string;
            /**
             * @description `active` when the region's edge forwards it; one that is `deleting` may still be forwarded
             * @enum {string}
             */
            status: "provisioning" | "active" | "deleting";
            created_at: components["schemas"]["Time"];
        };
        PortForwardList: {
            items: components["schemas"]["PortForward"][];
            next_cursor: components["schemas"]["NextCursor"];
        };
        PortForwardCreate: {
            /** @enum {string} */
            protocol: "tcp" | "udp";
            listen_port: number;
            /** @description A server of the gateway's network */
            server_id: string;
            /** @description Of the server. Default: `listen_port` */
            target_port?: number;
            description?: string;
        };
        PortForwardAndJob: {
            port_forward: components["schemas"]["PortForward"];
            gateway: components["schemas"]["Gateway"];
            job: components["schemas"]["Job"] | null;
        };
        /**
         * @description `provisioning` until its first configuration is in force, then `active`; `updating` while the machines do not have the last change or are being resized; `degraded` while a machine does not answer; `error` when it could not be made (see `status_reason`); `deleting` until its servers are gone
         * @enum {string}
         */
        LoadBalancerStatus: "provisioning" | "active" | "updating" | "degraded" | "error" | "deleting";
        /**
         * @description `source_hash`: a client's address decides, so that it keeps its target
         * @enum {string}
         */
        LoadBalancerAlgorithm: "round_robin" | "least_connections" | "source_hash";
        /**
         * @description `behind`: it serves an earlier configuration; `silent`: it has not answered for 90 seconds
         * @enum {string}
         */
        LoadBalancerMachineState: "creating" | "serving" | "behind" | "silent";
        LoadBalancer: {
            /** @example lb_06ex2v3m8n4k6q1r5s7t9w0y2z */
            id: string;
            name: string;
            region: string;
            network_id: string;
            subnet_id: string;
            description: string;
            status: components["schemas"]["LoadBalancerStatus"];
            status_reason: {
                /** @enum {string} */
                code: "configuration_refused" | "apply_failed" | "provisioning_failed" | "resize_failed" | "resize_waiting" | "machine_silent";
                message: string;
                job_id: string | null;
            } | null;
            /** @description Of each of its servers; during a resize, what they are to have */
            package: string;
            /** @description It runs on two servers, and either can have its address */
            ha: boolean;
            algorithm: components["schemas"]["LoadBalancerAlgorithm"];
            /** @description Where the network's servers reach it; null while it has no server */
            private_ip: components["schemas"]["Address4"] | null;
            public_ip: {
                id: string;
                address: components["schemas"]["Address4"];
            } | null;
            machines: {
                /** @enum {integer} */
                slot: 1 | 2;
                /** @description null: another one is about to be made */
                server_id: string | null;
                private_ip: components["schemas"]["Address4"] | null;
                /** @description Of the configuration that it has; 0 before the first */
                observed_generation: number;
            }[];
            /** @description How many it has */
            listeners: number;
            /** @description How many it has */
            targets: number;
            labels: components["schemas"]["Labels"];
            /** @description Which actions are possible now, and why the others are not */
            actions: {
                change: components["schemas"]["ActionState"];
                apply: components["schemas"]["ActionState"];
                resize: components["schemas"]["ActionState"];
                delete: components["schemas"]["ActionState"];
            };
            /** @description The open job that applies it, or that creates, resizes or destroys one of its servers */
            job_id: string | null;
            /** @description Of what is wanted */
            generation: number;
            /** @description Of what all its machines have; 0 before the first */
            observed_generation: number;
            created_at: components["schemas"]["Time"];
            updated_at: components["schemas"]["Time"];
        };
        LoadBalancerList: {
            items: components["schemas"]["LoadBalancer"][];
            next_cursor: components["schemas"]["NextCursor"];
        };
        LoadBalancerCreate: {
            name: components["schemas"]["ResourceName"];
            /** @description Its network and its region are the load balancer's */
            subnet_id: string;
            /** @description Of each of its servers. Default: the smallest */
            package?: components["schemas"]["Slug"];
            /** @description Default false */
            ha?: boolean;
            /** @description Default round_robin */
            algorithm?: components["schemas"]["LoadBalancerAlgorithm"];
            /**
             * @description `none` (default), `auto`, or the id of a public IPv4 address of the organisation that nothing has
             * @example auto
             */
            public_ip?: string;
            listeners?: components["schemas"]["ListenerCreate"][];
            targets?: components["schemas"]["TargetCreate"][];
            description?: string;
            labels?: components["schemas"]["Labels"];
        };
        LoadBalancerUpdate: {
            name?: components["schemas"]["ResourceName"];
            description?: string;
            labels?: components["schemas"]["LabelChanges"];
            algorithm?: components["schemas"]["LoadBalancerAlgorithm"];
        };
        LoadBalancerResize: {
            package: components["schemas"]["Slug"];
        };
        LoadBalancerAndJob: {
            load_balancer: components["schemas"]["LoadBalancer"];
            /**
             * @description The job that brings the change to its machines, or that creates, resizes or destroys one. Null when a machine's creation
             *     that is on its way brings it, or when nothing is to be done now
             */
            job: components["schemas"]["Job"] | null;
        };
        LoadBalancerDryRun: {
            /** @constant */
            dry_run: true;
            /** @description What would be written; null when a precondition fails */
            would: {
                load_balancer: components["schemas"]["LoadBalancer"];
                job_kind: components["schemas"]["JobKind"];
            } | null;
            blockers: components["schemas"]["Precondition"][];
        };
        Sticky: {
            /** @example SERVERID */
            cookie_name: string;
            /** @description Without a request for so long the client is balanced anew. Default null: when its browser is closed */
            ttl_seconds?: number | null;
        };
        /** @description What is left out has its default; `path`, `host` and `expected_codes` are of http checks only */
        HealthCheckSettings: {
            /**
             * @description Default tcp
             * @enum {string}
             */
            protocol?: "tcp" | "http";
            /** @description Of the target. Default null: the listener's target port */
            port?: number | null;
            /** @description Default `/` */
            path?: string | null;
            /** @description The Host header. Default: the target's address */
            host?: string | null;
            /**
             * @description Default `200-399`
             * @example 200-299,301
             */
            expected_codes?: string | null;
            /** @description 2 to 300. Default 10 */
            interval_seconds?: number;
            /** @description 1 to 60, below the interval. Default 5 */
            timeout_seconds?: number;
            /** @description Successes in a row until a target gets traffic, 1 to 10. Default 3 */
            healthy_threshold?: number;
            /** @description Failures in a row until it gets none, 1 to 10. Default 2 */
            unhealthy_threshold?: number;
        };
        HealthCheck: {
            /** @enum {string} */
            protocol: "tcp" | "http";
            port: number | null;
            path: string | null;
            host: string | null;
            expected_codes: string | null;
            interval_seconds: number;
            timeout_seconds: number;
            healthy_threshold: number;
            unhealthy_threshold: number;
        };
        Listener: {
            /** @example lsn_06ex2v3m8n4k6q1r5s7t9w0y2z */
            id: string;
            load_balancer_id: string;
            /** @enum {string} */
            protocol: "tcp" | "http" | "https" | "tls_passthrough";
            port: number;
            target_port: number;
            certificate_ids: string[];
            redirect_to_https: boolean;
            sticky: components["schemas"]["Sticky"] | null;
            /** @enum {string} */
            proxy_protocol: "none" | "v1" | "v2";
            idle_timeout_seconds: number;
            allowed_cidrs: string[];
            health_check: components["schemas"]["HealthCheck"];
            created_at: components["schemas"]["Time"];
            updated_at: components["schemas"]["Time"];
        };
        ListenerList: {
            items: components["schemas"]["Listener"][];
            next_cursor: components["schemas"]["NextCursor"];
        };
        ListenerCreate: {
            /**
             * @description tcp, http, https or tls_passthrough
             * @example http
             */
            protocol: string;
            /** @description 1 to 65535; not 22, 53 and 5355 */
            port: number;
            /** @description Default: `port` */
            target_port?: number;
            /** @description Of an https listener: at most 20, chosen by the name that the client asks for */
            certificate_ids?: string[];
            /** @description Of an http listener: every request is answered with a redirect. Default false */
            redirect_to_https?: boolean;
            /** @description Of http and https listeners: a cookie binds clients to a target. Default null */
            sticky?: components["schemas"]["Sticky"] | null;
            /**
             * @description How targets learn the client's address of a connection. Default none
             * @enum {string}
             */
            proxy_protocol?: "none" | "v1" | "v2";
            /** @description 1 to 4000. Default 60 */
            idle_timeout_seconds?: number;
            /** @description Clients of other addresses are refused. Default: all may connect */
            allowed_cidrs?: string[];
            health_check?: components["schemas"]["HealthCheckSettings"];
        };
        ListenerUpdate: {
            /**
             * @description tcp, http, https or tls_passthrough
             * @example http
             */
            protocol?: string;
            /** @description 1 to 65535; not 22, 53 and 5355 */
            port?: number;
            /** @description Default: `port` */
            target_port?: number;
            /** @description Of an https listener: at most 20, chosen by the name that the client asks for */
            certificate_ids?: string[];
            /** @description Of an http listener: every request is answered with a redirect. Default false */
            redirect_to_https?: boolean;
            /** @description Of http and https listeners: a cookie binds clients to a target. Default null */
            sticky?: components["schemas"]["Sticky"] | null;
            /**
             * @description How targets learn the client's address of a connection. Default none
             * @enum {string}
             */
            proxy_protocol?: "none" | "v1" | "v2";
            /** @description 1 to 4000. Default 60 */
            idle_timeout_seconds?: number;
            /** @description Clients of other addresses are refused. Default: all may connect */
            allowed_cidrs?: string[];
            health_check?: components["schemas"]["HealthCheckSettings"];
        };
        ListenerAndJob: {
            listener: components["schemas"]["Listener"];
            load_balancer: components["schemas"]["LoadBalancer"];
            job: components["schemas"]["Job"] | null;
        };
        Target: {
            /** @example tgt_06ex2v3m8n4k6q1r5s7t9w0y2z */
            id: string;
            load_balancer_id: string;
            server_id: string | null;
            label_selector: string | null;
            address: components["schemas"]["Address4"] | null;
            weight: number;
            backup: boolean;
            drain: boolean;
            created_at: components["schemas"]["Time"];
            updated_at: components["schemas"]["Time"];
        };
        TargetList: {
            items: components["schemas"]["Target"][];
            next_cursor: components["schemas"]["NextCursor"];
        };
        /** @description Exactly one of `server_id`, `label_selector` and `address` */
        TargetCreate: {
            /** @description A server of the load balancer's network */
            server_id?: string;
            /** @example role=web,tier!=test */
            label_selector?: string;
            /**
             * @description IPv4
             * @example 10.0.1.12
             */
            address?: string;
            /** @description 0 to 256. Default 1; 0 is the same as `drain` */
            weight?: number;
            /** @description Traffic only while no other target is healthy. Default false */
            backup?: boolean;
            /** @description Default false */
            drain?: boolean;
        };
        TargetUpdate: {
            /** @description 0 to 256 */
            weight?: number;
            backup?: boolean;
            drain?: boolean;
        };
        TargetAndJob: {
            target: components["schemas"]["Target"];
            load_balancer: components["schemas"]["LoadBalancer"];
            job: components["schemas"]["Job"] | null;
        };
        /**
         * @description `unknown` until the first checks
         * @enum {string}
         */
        TargetStatus: "healthy" | "unhealthy" | "unknown" | "draining";
        CheckError: {
            /** @enum {string} */
            code: "connection_refused" | "connection_timed_out" | "unreachable" | "no_answer" | "unexpected_code" | "invalid_answer" | "other";
            message: string;
        };
        LoadBalancerHealth: {
            status: components["schemas"]["LoadBalancerStatus"];
            status_reason: {
                code: string;
                message: string;
                job_id: string | null;
            } | null;
            machines: {
                /** @enum {integer} */
                slot: 1 | 2;
                server_id: string | null;
                state: components["schemas"]["LoadBalancerMachineState"];
                /** @description Of two machines the active one has the address; null when it is not known */
                role: ("active" | "standby") | null;
                observed_generation: number;
                /** @description Open now */
                connections: number | null;
                answered_at: components["schemas"]["Time"] | null;
            }[];
            listeners: {
                listener_id: string;
                is_open: boolean;
                /** @description Open now, on all machines */
                connections: number;
                connections_per_second: number;
                requests_per_second: number;
                /** @description Answers by the first digit of their code, 1 to 5, since the machine's last change */
                responses: number[];
            }[];
            targets: {
                target_id: string;
                /** @description The server that is named or was selected */
                server_id: string | null;
                address: components["schemas"]["Address4"];
                /** @description The worst of its listeners' */
                status: components["schemas"]["TargetStatus"];
                listeners: {
                    listener_id: string;
                    status: components["schemas"]["TargetStatus"];
                    last_error: components["schemas"]["CheckError"] | null;
                    checked_at: components["schemas"]["Time"] | null;
                }[];
            }[];
            /** @description Servers of label selectors beyond 256 addresses */
            left_out: number;
        };
        LoadBalancerMetrics: {
            hours: {
                hour: components["schemas"]["Time"];
                listener_id: string;
                connections: number;
                requests: number;
                /** @description Requests that were answered with 500 to 599 */
                errors: number;
                bytes_in: number;
                bytes_out: number;
            }[];
        };
        /** @description A server of the organisation, or an address */
        ReachEndpoint: {
            server_id?: string;
            /** @description IPv4 or IPv6 */
            address?: string;
        };
        ReachQuestion: {
            from: components["schemas"]["ReachEndpoint"];
            to: components["schemas"]["ReachEndpoint"];
            /** @enum {string} */
            protocol: "tcp" | "udp" | "icmp";
            /** @description Needed with tcp and udp */
            port?: number;
        };
        ReachDecision: {
            /** @enum {string} */
            type: "isolation" | "tier" | "gateway" | "port_forward" | "firewall_rule" | "firewall_default" | "no_firewall" | "platform" | "route" | "subnet" | "network" | "public_address" | "itself" | "nobody";
            /** @description Id of what decides, where it has one */
            resource: string | null;
            /** @description Of a firewall's rule */
            rule_id: string | null;
            message: string;
        };
        ReachVerdict: {
            /** @enum {string} */
            verdict: "allowed" | "denied";
            decided_by: components["schemas"]["ReachDecision"];
            /** @description In the order in which the packet meets them, up to the first that denies */
            checks: {
                /** @enum {string} */
                place: "sender" | "sender_filter" | "router" | "gateway" | "internet" | "receiver_filter" | "receiver";
                /** @enum {string} */
                verdict: "allowed" | "denied";
                decided_by: components["schemas"]["ReachDecision"];
            }[];
        };
        FirewallVerdict: {
            /** @enum {string} */
            verdict: "allowed" | "denied";
            /** @description The one that decides; null when none matches */
            rule: components["schemas"]["FirewallRule"] | null;
            message: string;
        };
        /** @enum {integer} */
        IpVersion: 4 | 6;
        IpPool: {
            /** @example pool_06ex2v3m8n4k6q1r5s7t9w0y2z */
            id: string;
            region: string;
            name: string;
            description: string;
            version: components["schemas"]["IpVersion"];
            gateway: components["schemas"]["Address"];
            prefix_length: number;
            /** @description null: the one that the region file names */
            vlan: number | null;
            /** @description The pattern of the names that public IPs without a `ptr` of their own have, such as `*.static.example.net` */
            reverse_name: string | null;
            addresses: components["schemas"]["IpPoolAddresses"];
            generation: number;
            created_at: components["schemas"]["Time"];
            updated_at: components["schemas"]["Time"];
        };
        /** @description `total` is the sum of the others. `allocated` ones are allocated to an organisation and not reserved by it. */
        IpPoolAddresses: {
            total: number;
            /** @description Network, broadcast and gateway addresses */
            reserved: number;
            /** @description Not assigned */
            free: number;
            allocated: number;
            taken: number;
            /** @description In quarantine after a release */
            quarantined: number;
        };
        IpPoolList: {
            items: components["schemas"]["IpPool"][];
            next_cursor: components["schemas"]["NextCursor"];
        };
        IpPoolCreate: {
            region: string;
            name: components["schemas"]["DisplayName"];
            description?: string;
            /** @description Its version is the pool's */
            gateway: components["schemas"]["Address"];
            prefix_length: number;
            vlan?: number | null;
            reverse_name?: components["schemas"]["ReversePattern"] | null;
        };
        IpPoolUpdate: {
            name?: components["schemas"]["DisplayName"];
            description?: string;
            reverse_name?: components["schemas"]["ReversePattern"] | null;
        };
        /**
         * @description A name whose first label is a star, which stands for the address: `203-0-113-7`, or the eight groups of an IPv6
         *     address, `2001-db8-0-0-0-0-0-7`. With the longest address of its version it has at most 253 characters. Other
         *     letters than ASCII are stored as punycode.
         * @example *.static.example.net
         */
        ReversePattern: string;
        IpPoolRange: {
            /** @example rng_06ex2v3m8n4k6q1r5s7t9w0y2z */
            id: string;
            pool_id: string;
            start: components["schemas"]["Address"];
            end: components["schemas"]["Address"];
            /** @description Addresses, reserved ones included */
            size: number;
            created_at: components["schemas"]["Time"];
        };
        IpPoolRangeList: {
            items: components["schemas"]["IpPoolRange"][];
            next_cursor: components["schemas"]["NextCursor"];
        };
        /** @description Either `cidr`, or `start` and `end` */
        IpPoolRangeAdd: {
            cidr?: string;
            start?: components["schemas"]["Address"];
            end?: components["schemas"]["Address"];
        };
        IpPoolUtilisation: {
            pool_id: string;
            addresses: components["schemas"]["IpPoolAddresses"];
            organisations: {
                organisation: components["schemas"]["OrganisationRef"];
                /** @description All that it may reserve, reserved ones included */
                allocated: number;
                taken: number;
                attached: number;
            }[];
        };
        IpPoolAllocation: {
            address: components["schemas"]["Address"];
            organisation: components["schemas"]["OrganisationRef"];
            /** @enum {string} */
            state: "free" | "taken" | "quarantined";
            public_ip_id: string | null;
            /** @description End of quarantine */
            free_after: components["schemas"]["Time"] | null;
        };
        IpPoolAllocationList: {
            items: components["schemas"]["IpPoolAllocation"][];
            next_cursor: components["schemas"]["NextCursor"];
        };
        /** @description Either `count` or `addresses` */
        IpPoolAllocate: {
            organisation_id: string;
            count?: number;
            addresses?: components["schemas"]["Address"][];
        };
        IpPoolAllocations: {
            pool_id: string;
            organisation: components["schemas"]["OrganisationRef"];
            addresses: components["schemas"]["Address"][];
        };
        /**
         * @description `free` is the organisation's and on no server; `attaching` and `detaching` while its job is open, or has failed (see `status_reason`)
         * @enum {string}
         */
        PublicIpStatus: "free" | "attaching" | "attached" | "detaching";
        /**
         * @description A full host name, without the dot at its end
         * @example web.example.org
         */
        PtrName: string;
        PublicIp: {
            /** @example ip_06ex2v3m8n4k6q1r5s7t9w0y2z */
            id: string;
            address: components["schemas"]["Address"];
            version: components["schemas"]["IpVersion"];
            prefix_length: number;
            gateway: components["schemas"]["Address"];
            region: string;
            status: components["schemas"]["PublicIpStatus"];
            status_reason: {
                /** @example attach_failed */
                code: string;
                message: string;
                job_id: string | null;
            } | null;
            /**
             * @description The server, the gateway or the load balancer that has it or is to have it. A load balancer on one server has its
             *     address on that server; one on two has it itself, and it is on the server that is active
             */
            attached_to: {
                /** @enum {string} */
                type: "server" | "gateway" | "load_balancer";
                id: string;
                name: string;
            } | null;
            /** @description The server's interface has it, but its guest is not configured yet: reboot the server through the API, or stop and start it */
            requires_reboot: boolean;
            ptr: components["schemas"]["PtrName"] | null;
            /**
             * @description Whether the name servers answer `reverse_name`. `unmanaged`: the reverse zone of the address is not served here; an operator can say where it is
             * @enum {string}
             */
            ptr_status: "none" | "pending" | "served" | "unmanaged";
            /** @description The name that is to be served: `ptr`, or else the one by the pattern of its pool. null without either */
            reverse_name: string | null;
            labels: components["schemas"]["Labels"];
            /** @description Release it when its server is destroyed */
            delete_with_server: boolean;
            protection: components["schemas"]["PublicIpProtection"];
            /** @description Which actions are possible now, and why the others are not */
            actions: {
                attach: components["schemas"]["ActionState"];
                detach: components["schemas"]["ActionState"];
                delete: components["schemas"]["ActionState"];
            };
            /** @description The open job that moves it */
            job_id: string | null;
            generation: number;
            created_at: components["schemas"]["Time"];
            updated_at: components["schemas"]["Time"];
        };
        PublicIpProtection: {
            /** @description Releasing answers 409 `protected` while true */
            delete: boolean;
        };
        PublicIpList: {
            items: components["schemas"]["PublicIp"][];
            next_cursor: components["schemas"]["NextCursor"];
        };
        PublicIpCreate: {
            /** @description Needed when the organisation sees more than one region */
            region?: string;
            /**
             * @default 4
             * @enum {integer}
             */
            version?: 4 | 6;
            /** @description One of the allocated addresses; its version takes precedence over `version` */
            address?: components["schemas"]["Address"];
            ptr?: components["schemas"]["PtrName"];
            labels?: components["schemas"]["Labels"];
            /** @default false */
            delete_with_server?: boolean;
            protection?: components["schemas"]["PublicIpProtection"];
        };
        PublicIpAttach: {
            server_id: string;
            /**
             * @description Move it from the server that has it
             * @default false
             */
            force?: boolean;
        };
        PublicIpAndJob: {
            public_ip: components["schemas"]["PublicIp"];
            server: components["schemas"]["Server"];
            job: components["schemas"]["Job"];
        };
        PublicIpUpdate: {
            ptr?: components["schemas"]["PtrName"] | null;
            labels?: components["schemas"]["LabelChanges"];
            delete_with_server?: boolean;
            protection?: components["schemas"]["PublicIpProtection"];
        };
        /**
         * @description `pending`: its key is being made. `issuing`, `renewing`: the CA is asked; a `renewing` one is in use. `failed`: it never had material, and the last attempt failed. `expired`: clients refuse it. `needs_material`: its region cannot open its private key any more; upload it again
         * @enum {string}
         */
        CertificateStatus: "pending" | "issuing" | "active" | "renewing" | "failed" | "expired" | "needs_material";
        /** @enum {string} */
        CertificateType: "uploaded" | "managed";
        /**
         * @description How its names are proven to the CA. A wildcard needs `dns`
         * @enum {string}
         */
        CertificateChallengeKind: "dns" | "http";
        CertificateError: {
            /** @enum {string} */
            code: "ca_account" | "ca_caa" | "ca_connection" | "ca_dns" | "ca_rate_limited" | "ca_refused" | "ca_refused_name" | "ca_unauthorized" | "ca_unavailable" | "names_not_proven_in_time" | "names_not_ready" | "order_lost" | "region_failed" | "setup_incomplete";
            message: string;
            /** @description The name that it is about */
            domain_name: string | null;
            /** @description What the CA said */
            ca_text: string | null;
            at: components["schemas"]["Time"];
        };
        CertificateRenewal: {
            /** @description When it will be renewed; null before it has been issued */
            renew_at: components["schemas"]["Time"] | null;
            /** @description After an attempt that has failed */
            next_attempt_at: components["schemas"]["Time"] | null;
            /** @description Since the last one that succeeded */
            failed_attempts: number;
            last_error: components["schemas"]["CertificateError"] | null;
        };
        CertificateChallenge: {
            domain_name: string;
            challenge: components["schemas"]["CertificateChallengeKind"];
            /** @description The domain in which Kule writes the record; null with `http` */
            domain_id: string | null;
            /** @description The record that proves the name. Kule writes it while the CA is asked, and removes it then; `value` is null at other times */
            record: {
                /** @example _acme-challenge.www.example.com */
                name: string;
                /** @constant */
                type: "TXT";
                value: string | null;
            } | null;
            /** @description What a load balancer of the region answers */
            http: {
                /** @description What the CA asks for; null before it has */
                url: string | null;
                content: string | null;
                /** @description The addresses that the Internet's name servers have of the name now. None also when they do not answer, or were not asked because no load balancer of the region could answer the CA */
                leads_to: {
                    /** @example 192.0.2.10 */
                    address: string;
                    /** @description The organisation's load balancer that has the address and an http listener on port 80; null: it leads elsewhere */
                    load_balancer_id: string | null;
                }[];
            } | null;
            /** @description Whether nothing stands in the way that Kule can see */
            ready: boolean;
            /** @description What stands in the way, and what to do */
            problem: string | null;
            problem_code: components["schemas"]["CertificateProofProblem"] | null;
            /**
             * @description Of the present attempt
             * @enum {string|null}
             */
            ca_status: "pending" | "valid" | "invalid" | null;
            /** @description What the CA said of the name in the last attempt */
            ca_text: string | null;
        };
        /** @enum {string} */
        CertificateProofProblem: "domain_missing" | "domain_not_proven" | "domain_leaving" | "domain_elsewhere" | "record_is_alias" | "record_delegated" | "caa_forbids" | "no_load_balancer" | "name_unresolved" | "name_without_address" | "name_leads_elsewhere" | "name_has_ipv6_address" | "answer_not_in_force";
        CertificateChallengeList: {
            items: components["schemas"]["CertificateChallenge"][];
        };
        /** @description PEM, one or more blocks */
        CertificatePem: string;
        CertificateWarning: {
            /** @enum {string} */
            field: "certificate" | "chain";
            /** @enum {string} */
            code: "chain_incomplete" | "chain_reordered";
            message: string;
        };
        CertificateUse: {
            load_balancer_id: string;
            listener_id: string;
        };
        Certificate: {
            /** @example cert_06ex2v3m8n4k6q1r5s7t9w0y2z */
            id: string;
            name: string;
            /** @description Its private key can be opened there only */
            region: string;
            type: components["schemas"]["CertificateType"];
            status: components["schemas"]["CertificateStatus"];
            /** @description The names that it is for */
            domain_names: string[];
            /** @description Null for an uploaded certificate */
            challenge: components["schemas"]["CertificateChallengeKind"] | null;
            /** @description Null for an uploaded certificate */
            renewal: components["schemas"]["CertificateRenewal"] | null;
            /** @description The open job that makes its key */
            job_id: string | null;
            /** @description Of the certificate and the key; higher with each replacement. null while there is none */
            version: number | null;
            /** @example R11 */
            issuer: string | null;
            /**
             * @description Hexadecimal
             * @example 03e8
             */
            serial: string | null;
            /**
             * @example ecdsa-p256
             * @example rsa-2048
             */
            key_type: string | null;
            /** @description The DNS names in the certificate */
            san: string[];
            not_before: components["schemas"]["Time"] | null;
            not_after: components["schemas"]["Time"] | null;
            /** @description Whole days until `not_after`; negative after it */
            days_left: number | null;
            /** @description Of the certificate, hexadecimal */
            fingerprint_sha256: string | null;
            /** @description Of the one before, while it is known */
            previous_fingerprint: string | null;
            /** @description What was accepted and should be known */
            warnings: components["schemas"]["CertificateWarning"][];
            used_by: components["schemas"]["CertificateUse"][];
            labels: components["schemas"]["Labels"];
            created_by: components["schemas"]["Actor"];
            generation: number;
            created_at: components["schemas"]["Time"];
            updated_at: components["schemas"]["Time"];
        };
        CertificateList: {
            items: components["schemas"]["Certificate"][];
            next_cursor: components["schemas"]["NextCursor"];
        };
        CertificateCreate: {
            name: components["schemas"]["DisplayName"];
            type: components["schemas"]["CertificateType"];
            /** @description Needed when the organisation sees more than one region */
            region?: string;
            /** @description The certificate, with or without its chain */
            certificate?: components["schemas"]["CertificatePem"];
            /** @description What leads from it to a root */
            chain?: components["schemas"]["CertificatePem"];
            private_key?: components["schemas"]["CertificatePrivateKey"];
            /** @description Of a managed certificate; `*.example.com` stands for all names right below `example.com` */
            domain_names?: string[];
            /** @description Of a managed certificate; `dns` when left out */
            challenge?: components["schemas"]["CertificateChallengeKind"];
            labels?: components["schemas"]["Labels"];
        };
        /**
         * Format: password
         * @description PEM without a password: PKCS #8, PKCS #1 or SEC 1. No answer has it
         */
        CertificatePrivateKey: string;
        CertificateMaterial: {
            /** @description The certificate, with or without its chain */
            certificate: components["schemas"]["CertificatePem"];
            /** @description What leads from it to a root */
            chain?: components["schemas"]["CertificatePem"];
            private_key: components["schemas"]["CertificatePrivateKey"];
        };
        CertificateUpdate: {
            name?: components["schemas"]["DisplayName"];
            labels?: components["schemas"]["LabelChanges"];
        };
        CertificateAndJob: {
            certificate: components["schemas"]["Certificate"];
            job: components["schemas"]["Job"] | null;
        };
        /**
         * @description `pending` until it is proven, then `provisioning` → `active`; `updating` while a change is on its way. `expired` and `lost` (another organisation has proven the name) were never served.
         * @enum {string}
         */
        DomainStatus: "pending" | "expired" | "lost" | "provisioning" | "active" | "updating" | "error" | "pending_deletion" | "deleting";
        /**
         * @description With or without the final dot; names with other letters than ASCII are stored as punycode
         * @example example.com
         */
        DomainName: string;
        /** @enum {string} */
        RecordType: "A" | "AAAA" | "CNAME" | "MX" | "TXT" | "NS" | "SRV" | "CAA" | "PTR" | "TLSA" | "SSHFP";
        /**
         * @description In seconds
         * @example 3600
         */
        RecordTtl: number;
        Domain: {
            /** @example dom_06ex2v3m8n4k6q1r5s7t9w0y2z */
            id: string;
            /**
             * @description In lower case and ASCII, without the final dot
             * @example example.com
             */
            name: string;
            /**
             * @description As people read it
             * @example example.com
             */
            unicode_name: string;
            status: components["schemas"]["DomainStatus"];
            status_reason: {
                /** @example apply_failed */
                code: string;
                message: string;
                job_id: string | null;
            } | null;
            /** @description How to prove the domain, until it has a proof of its own */
            verification: {
                /** @description Enter this record where the domain is served now */
                record: {
                    /** @example _kule-verification.example.com */
                    name: string;
                    /** @constant */
                    type: "TXT";
                    /** @example kule-verification=9f86d081884c7d65 */
                    value: string;
                };
                /** @description Or enter these at the registrar. One of them is enough for the proof */
                name_servers: string[];
                /** @description Null for a domain that is the organisation's by its parent domain */
                expires_at: components["schemas"]["Time"] | null;
                checked_at: components["schemas"]["Time"] | null;
                /** @description What the last check saw, when it did not prove the domain */
                seen: string | null;
            } | null;
            /**
             * @description What has proven it: its TXT record, its delegation, or that its parent domain is the organisation's. In the last
             *     case it ends with the parent. Null while it is not proven
             * @enum {string|null}
             */
            verified_by: "record" | "name_servers" | "parent" | null;
            /**
             * @description Names inside of it that other organisations had when it was proven. They are delegated to those for as long as they
             *     have them. `POST /domains` with such a name takes it, unless an NS record set of this domain delegates it
             */
            kept_delegations: string[];
            /** @description The domain's own: to be entered at the registrar */
            name_servers: string[];
            /** @description What the parent's name servers said at the last check */
            delegation: {
                /**
                 * @description `right`: exactly to `name_servers`; `partial`: to some of them, or to others as well
                 * @enum {string}
                 */
                state: "unknown" | "none" | "elsewhere" | "partial" | "right";
                observed: string[];
                checked_at: components["schemas"]["Time"] | null;
            };
            /** @description The default of new record sets */
            ttl: components["schemas"]["RecordTtl"];
            /** @description Of the SOA, as it was applied last */
            serial: number | null;
            /** @description Record sets */
            record_count: number;
            /** @description The most record sets that the domain may have */
            record_limit: number;
            dnssec: {
                /** @description As wanted */
                enabled: boolean;
                /** @description The DS records to enter at the registrar; empty until the domain is signed */
                ds: string[];
            };
            /** @description What somebody has changed at the DNS provider. `POST /domains/{id}/apply` puts it right */
            drift: {
                found_at: components["schemas"]["Time"];
                differences: components["schemas"]["DomainDifference"][];
                /** @description How many more there are */
                left_out: number;
            } | null;
            deletion: {
                requested_at: components["schemas"]["Time"];
                purge_at: components["schemas"]["Time"];
            } | null;
            protection: components["schemas"]["DomainProtection"];
            /** @description Which actions are possible now, and why the others are not */
            actions: {
                verify: components["schemas"]["ActionState"];
                /** @description Of its record sets */
                change: components["schemas"]["ActionState"];
                apply: components["schemas"]["ActionState"];
                set_dnssec: components["schemas"]["ActionState"];
                delete: components["schemas"]["ActionState"];
                cancel_deletion: components["schemas"]["ActionState"];
            };
            /** @description The open job that applies its changes */
            job_id: string | null;
            description: string;
            labels: components["schemas"]["Labels"];
            generation: number;
            /** @description The last generation that the name servers have */
            observed_generation: number;
            created_at: components["schemas"]["Time"];
            updated_at: components["schemas"]["Time"];
        };
        DomainDifference: {
            /** @enum {string} */
            kind: "missing" | "different" | "unexpected";
            /** @example www */
            name: string;
            /** @example A */
            type: string;
            wanted: components["schemas"]["DomainDifferenceSide"] | null;
            found: components["schemas"]["DomainDifferenceSide"] | null;
        };
        DomainDifferenceSide: {
            ttl: number;
            values: string[];
        };
        DomainProtection: {
            /** @description Deleting answers 409 `protected` while true */
            delete: boolean;
        };
        DomainList: {
            items: components["schemas"]["Domain"][];
            next_cursor: components["schemas"]["NextCursor"];
        };
        /** @description A zone file of RFC 1035; its names are relative to the domain, unless it has an $ORIGIN */
        ZoneFileText: string;
        DomainCreate: {
            name: components["schemas"]["DomainName"];
            ttl?: components["schemas"]["RecordTtl"];
            description?: string;
            labels?: components["schemas"]["Labels"];
            zone_file?: components["schemas"]["ZoneFileText"];
        };
        DomainUpdate: {
            ttl?: components["schemas"]["RecordTtl"];
            description?: string;
            protection?: components["schemas"]["DomainProtection"];
            labels?: components["schemas"]["LabelChanges"];
        };
        DomainDnssecSet: {
            enabled: boolean;
            /**
             * @description Stop signing though the parent has DS records
             * @default false
             */
            force?: boolean;
        };
        DomainAndJob: {
            domain: components["schemas"]["Domain"];
            job: components["schemas"]["Job"] | null;
        };
        RecordSet: {
            /**
             * @description Relative to the domain; `@` is the domain itself
             * @example www
             */
            name: string;
            /**
             * @description The whole name, without the final dot
             * @example www.example.com
             */
            fqdn: string;
            type: components["schemas"]["RecordType"];
            ttl: components["schemas"]["RecordTtl"];
            /**
             * @description In their canonical form
             * @example [
             *       "192.0.2.10"
             *     ]
             */
            values: string[];
            /** @description What `auto:srv_…` stands for now; null for other values */
            addresses: components["schemas"]["Address"][] | null;
            /** @description The program that looks after it, as it has said */
            managed_by: string | null;
            comment: string;
            /**
             * @description For `If-Match` and `if_match`
             * @example "r3"
             */
            etag: string;
            updated_at: components["schemas"]["Time"];
        };
        RecordSetList: {
            items: components["schemas"]["RecordSet"][];
            next_cursor: components["schemas"]["NextCursor"];
        };
        RecordValue: string;
        RecordSetWrite: {
            /** @description The domain's default when it is left out */
            ttl?: components["schemas"]["RecordTtl"];
            values: components["schemas"]["RecordValue"][];
            managed_by?: string | null;
            comment?: string;
        };
        RecordSetAndJob: {
            record_set: components["schemas"]["RecordSet"];
            job: components["schemas"]["Job"] | null;
        };
        RecordValuesChange: {
            add?: components["schemas"]["RecordValue"][];
            remove?: components["schemas"]["RecordValue"][];
            /** @description Of a record set that is created; the domain's default when it is left out */
            ttl?: components["schemas"]["RecordTtl"];
        };
        RecordSetChange: {
            /** @enum {string} */
            op: "upsert" | "delete";
            /** @example www */
            name: string;
            type: components["schemas"]["RecordType"];
            ttl?: components["schemas"]["RecordTtl"];
            values?: components["schemas"]["RecordValue"][];
            managed_by?: string | null;
            comment?: string;
            /** @description The record set's etag; `*` for one that exists */
            if_match?: string;
            /**
             * @description Only if there is none yet
             * @constant
             */
            if_none_match?: "*";
        };
        RecordSetChanges: {
            changes: components["schemas"]["RecordSetChange"][];
        };
        ZoneFileImport: {
            zone_file: components["schemas"]["ZoneFileText"];
            /**
             * @default merge
             * @enum {string}
             */
            mode?: "merge" | "replace";
        };
        RecordChanges: {
            /** @description Nothing was changed */
            dry_run: boolean;
            created: components["schemas"]["RecordSet"][];
            changed: {
                before: components["schemas"]["RecordSet"];
                after: components["schemas"]["RecordSet"];
            }[];
            deleted: components["schemas"]["RecordSet"][];
            /** @description Differences that are more than the lists take */
            left_out: number;
            job: components["schemas"]["Job"] | null;
        };
        DomainCheck: {
            checked_at: components["schemas"]["Time"];
            wanted_serial: number | null;
            /** @description Delegated to its name servers, and each of them serves the last change */
            is_right: boolean;
            /** @description What is not right, and what to do */
            problems: {
                /** @example not_delegated */
                code: string;
                message: string;
                fix: string | null;
            }[];
            name_servers: {
                name: string;
                address: components["schemas"]["Address"];
                /** @enum {string} */
                state: "serves" | "serves_older" | "not_serving" | "silent";
                serial: number | null;
            }[];
            delegation: {
                /** @enum {string} */
                state: "unknown" | "none" | "elsewhere" | "partial" | "right";
                observed: string[];
                /** @description Own name servers that the parent does not name */
                missing: string[];
                /** @description Name servers that the parent names and that are not the domain's */
                foreign: string[];
                /** @description DS records at the parent */
                ds: string[];
            };
        };
        /**
         * @description `creating`, then `running` or `stopped`; `starting`, `stopping`, `rebooting`, `resizing` and `rebuilding` during a job; `pending_deletion` in the removal buffer, `deleting` once it ends, then 404; `error` when a job has failed (see `status_reason`)
         * @enum {string}
         */
        ServerStatus: "creating" | "running" | "stopped" | "starting" | "stopping" | "rebooting" | "resizing" | "rebuilding" | "pending_deletion" | "deleting" | "error";
        /** @description Lower-case letters, digits and hyphens. Becomes the VM's name and the guest's hostname. Purely numeric names and words that YAML reads as something else (`on`, `null`, …) are refused. */
        ServerName: string;
        ActionState: {
            allowed: boolean;
            code: components["schemas"]["ErrorCode"] | null;
            /** @example The server is being created */
            reason: string | null;
        };
        Server: {
            /** @example srv_06ex2v3m8n4k6q1r5s7t9w0y2z */
            id: string;
            name: string;
            hostname: string;
            region: string;
            status: components["schemas"]["ServerStatus"];
            status_reason: {
                /** @example create_failed */
                code: string;
                message: string;
                job_id: string | null;
            } | null;
            /** @enum {string} */
            power_state: "on" | "off" | "unknown";
            image: {
                slug: string;
                name: string;
                /** @enum {string} */
                os_family: "linux" | "windows";
                /** @description Who the SSH keys and the console password are for */
                default_user: string;
            };
            package: components["schemas"]["Package"];
            /** @description The disk it has: the package's, or larger after a resize to a smaller package */
            disk_gb: number;
            /** @description As given at creation, or at the last rebuild */
            ssh_key_ids: string[];
            interfaces: {
                id: string;
                subnet_id: string;
                network_id: string;
                private_ip: components["schemas"]["Address4"];
                /** @example 0a:4b:75:00:01:2c */
                mac: string;
                primary: boolean;
            }[];
            /** @description The addresses it has or is to have, IPv4 first */
            public_ips: {
                id: string;
                address: components["schemas"]["Address"];
                version: components["schemas"]["IpVersion"];
                status: components["schemas"]["PublicIpStatus"];
                requires_reboot: boolean;
            }[];
            /** @description Firewalls attached to the server itself, in the order of their attachment; others may apply to it by its subnet or labels */
            firewall_ids: string[];
            labels: components["schemas"]["Labels"];
            protection: components["schemas"]["ServerProtection"];
            /** @description An operator's lock. While it is set every change answers 409 `locked` */
            locked: {
                by: components["schemas"]["Actor"];
                reason: string;
                at: components["schemas"]["Time"];
            } | null;
            /** @description What the server belongs to, which alone changes it. While it is set every change answers 409 `managed` */
            managed_by: components["schemas"]["ServerOwner"] | null;
            console: {
                types: ("serial" | "vnc")[];
            };
            deletion: {
                requested_at: components["schemas"]["Time"];
                requested_by: components["schemas"]["Actor"];
                /** @description When the disks are destroyed */
                purge_at: components["schemas"]["Time"];
                /**
                 * @description The status that cancel-deletion restores
                 * @enum {string}
                 */
                restores_to: "running" | "stopped" | "error";
            } | null;
            /** @description Which actions are possible now, and why the others are not */
            actions: {
                start: components["schemas"]["ActionState"];
                shutdown: components["schemas"]["ActionState"];
                stop: components["schemas"]["ActionState"];
                reboot: components["schemas"]["ActionState"];
                reset: components["schemas"]["ActionState"];
                resize: components["schemas"]["ActionState"];
                rebuild: components["schemas"]["ActionState"];
                password_reset: components["schemas"]["ActionState"];
                /** @description Whether `now` is possible; if not, `next_boot` may be */
                password_reset_now: components["schemas"]["ActionState"];
                rename: components["schemas"]["ActionState"];
                purge: components["schemas"]["ActionState"];
                delete: components["schemas"]["ActionState"];
                cancel_deletion: components["schemas"]["ActionState"];
                update: components["schemas"]["ActionState"];
                console?: components["schemas"]["ActionState"];
            };
            /** @description The open job */
            job_id: string | null;
            generation: number;
            observed_generation: number;
            /** @description When the region last reported the server's state */
            observed_at: components["schemas"]["Time"] | null;
            observation: components["schemas"]["Observation"];
            /** @description What the guest reported, as of the last scan; null before the first */
            guest: components["schemas"]["Guest"] | null;
            /** @description How the VM differs from the records; null when it does not */
            drift: components["schemas"]["ServerDrift"] | null;
            created_at: components["schemas"]["Time"];
            updated_at: components["schemas"]["Time"];
        };
        /** @description What a managed server belongs to */
        ServerOwner: {
            /** @enum {string} */
            type: "load_balancer" | "cluster";
            /** @example lb_06ex2v3m8n4k6q1r5s7t9w0y2z */
            id: string;
            name: string;
        };
        ServerProtection: {
            /** @description Deleting answers 409 `protected` while true */
            delete: boolean;
            /** @description Rebuilding answers 409 `protected` while true */
            rebuild: boolean;
        };
        ServerProtectionChange: {
            /** @description Deleting answers 409 `protected` while true */
            delete?: boolean;
            /** @description Rebuilding answers 409 `protected` while true */
            rebuild?: boolean;
        };
        ServerPowerRequest: {
            /** @enum {string} */
            action: "start" | "shutdown" | "stop" | "reboot" | "reset";
            /**
             * @description How long to wait for the guest (shutdown, reboot)
             * @default 60
             */
            timeout_seconds?: number;
            /**
             * @description Power off when the guest has not shut down by then (shutdown, reboot)
             * @default false
             */
            force_after?: boolean;
        };
        ServerResizeRequest: {
            /** @example l */
            package: string;
            /**
             * @description A running server may be shut down and started again
             * @default false
             */
            allow_restart?: boolean;
            /**
             * @description Make the disk as large as the package's
             * @default true
             */
            grow_disk?: boolean;
        };
        ServerList: {
            items: components["schemas"]["Server"][];
            next_cursor: components["schemas"]["NextCursor"];
        };
        ServerCreate: {
            name: components["schemas"]["ServerName"];
            /** @description Needed when the organisation sees more than one region */
            region?: string;
            /** @example ubuntu-24.04 */
            image: string;
            /** @example m */
            package: string;
            /** @description Linux only */
            ssh_key_ids?: string[];
            subnet_id?: string;
            /** @description A free or a reserved address of the subnet. Default: the lowest free one */
            private_ip?: components["schemas"]["Address4"];
            /**
             * @description `auto` reserves a public IPv4 address of those allocated to the organisation, an id attaches that one
             * @example auto
             */
            public_ip?: string;
            /** @description Firewalls of the region that are attached to the server itself; others may apply to it by its subnet or labels */
            firewall_ids?: string[];
            labels?: components["schemas"]["Labels"];
            protection?: components["schemas"]["ServerProtectionChange"];
            /**
             * @description Start it once it is created
             * @default true
             */
            start?: boolean;
        };
        ServerUpdate: {
            name?: components["schemas"]["ServerName"];
            labels?: components["schemas"]["LabelChanges"];
            protection?: components["schemas"]["ServerProtectionChange"];
        };
        ServerRebuildRequest: {
            /** @example ubuntu-24.04 */
            image: string;
            /** @description Linux only. Default: the keys that the server was created with */
            ssh_key_ids?: string[];
            /** @description The server's name: its disk is destroyed */
            confirm_name: string;
        };
        ServerRebuilt: {
            server: components["schemas"]["Server"];
            job: components["schemas"]["Job"];
            /** @description Only when it was generated; shown once and never stored */
            console_password?: string | null;
            /** @description true on an idempotent replay of an answer that held a password */
            secret_withheld?: boolean;
        };
        ServerPasswordResetRequest: {
            /** @description A user of the guest. Default: the image's login name */
            username?: string;
            /**
             * @description For a Windows server only `now`
             * @default now
             * @enum {string}
             */
            when?: "now" | "next_boot";
        };
        ServerPasswordChanged: {
            server: components["schemas"]["Server"];
            job: components["schemas"]["Job"];
            username: string;
            /** @description Shown once and never stored */
            password?: string | null;
            /** @description true on an idempotent replay of an answer that held a password */
            secret_withheld?: boolean;
        };
        ServerLockRequest: {
            /** @description Shown to the organisation */
            reason: string;
        };
        /** @description What was created for the server */
        CreatedAlong: {
            network: components["schemas"]["Network"];
            subnet: components["schemas"]["Subnet"];
        };
        ServerCreated: {
            server: components["schemas"]["Server"];
            job: components["schemas"]["Job"];
            /** @description Only when it was generated; shown once and never stored. null for a Windows server with `start: false` */
            console_password?: string | null;
            /** @description true on an idempotent replay of an answer that held a password */
            secret_withheld?: boolean;
            created?: components["schemas"]["CreatedAlong"];
        };
        ServerAndJob: {
            server: components["schemas"]["Server"];
            job: components["schemas"]["Job"];
        };
        /**
         * @description `queued` → `running` → `succeeded`, `failed` or `cancelled`. Treat a value you do not know as open and look at `done`.
         * @enum {string}
         */
        JobStatus: "queued" | "running" | "succeeded" | "failed" | "cancelled";
        /** @enum {string} */
        JobKind: "ServerCreate" | "ServerAdopt" | "ServerStop" | "ServerRestore" | "ServerDestroy" | "ServerPower" | "ServerResize" | "ServerRebuild" | "ServerPasswordReset" | "ServerUpdate" | "ServerReconcile" | "PublicIpAttach" | "PublicIpDetach" | "FirewallApply" | "NetworkApply" | "LoadBalancerApply" | "DomainApply" | "CertificateRequest";
        /** @enum {string} */
        JobPhase: "observe" | "plan" | "apply" | "verify";
        JobStep: {
            seq: number;
            attempt: number;
            phase: components["schemas"]["JobPhase"];
            /**
             * @description One of the programs' steps; `other` for one that this version does not know
             * @example clone
             */
            name: string;
            /** @enum {string} */
            status: "running" | "succeeded" | "skipped" | "failed";
            /** @description In closed forms; of a plan, the names of its steps */
            message: string | null;
            /** @description What the region reported about it; only in operators' answers */
            region_message?: string | null;
            started_at: components["schemas"]["Time"];
            finished_at: components["schemas"]["Time"] | null;
            /** @description The hypervisor's task; shown to operators only */
            external_ref: string | null;
        };
        JobError: {
            /**
             * @description `region_error` for one that this version does not know
             * @example template_missing
             */
            code: string;
            /** @description What the code means */
            message: string;
            /** @description What the region reported; only in operators' answers */
            region_message?: string;
            step: string | null;
            retryable: boolean;
        };
        ResourceRef: {
            /** @enum {string} */
            type: "server" | "network" | "subnet" | "public_ip" | "domain" | "certificate" | "load_balancer";
            id: string;
            /** @description Its present name. Null when it is deleted */
            name: string | null;
        };
        Job: {
            /** @example job_06ex2v3m8n4k6q1r5s7t9w0y2z */
            id: string;
            kind: components["schemas"]["JobKind"];
            /**
             * @description Which action of its kind: `reboot` of a ServerPower
             * @example reboot
             */
            action: string | null;
            status: components["schemas"]["JobStatus"];
            /** @description Nothing more will happen */
            done: boolean;
            /** @description null for a job of the control plane itself */
            region: string | null;
            resource: components["schemas"]["ResourceRef"];
            phase: components["schemas"]["JobPhase"] | null;
            progress: number;
            /** @description Empty in lists. Of a job with more than 500 steps the later ones are left out */
            steps: components["schemas"]["JobStep"][];
            error: components["schemas"]["JobError"] | null;
            attempt: number;
            max_attempts: number;
            next_attempt_at: components["schemas"]["Time"] | null;
            cancellable: boolean;
            cancel_requested: boolean;
            /** @description POST /jobs/{id}/retry would be accepted */
            retryable: boolean;
            requested_by: components["schemas"]["Actor"];
            request_id: string;
            /** @description The job of the same resource that runs first */
            queued_behind: string | null;
            created_at: components["schemas"]["Time"];
            started_at: components["schemas"]["Time"] | null;
            finished_at: components["schemas"]["Time"] | null;
        };
        JobList: {
            items: components["schemas"]["Job"][];
            next_cursor: components["schemas"]["NextCursor"];
        };
        OperatorJob: {
            /** @example job_06ex2v3m8n4k6q1r5s7t9w0y2z */
            id: string;
            kind: components["schemas"]["JobKind"];
            /** @example reboot */
            action: string | null;
            status: components["schemas"]["JobStatus"];
            progress: number;
            /** @description null for a job of the control plane itself */
            region: string | null;
            organisation: {
                id: string;
                name: string;
            };
            resource: components["schemas"]["ResourceRef"];
            phase: components["schemas"]["JobPhase"] | null;
            attempt: number;
            max_attempts: number;
            /** @description The agent that holds it, or held it last */
            agent_name: string | null;
            error: components["schemas"]["JobError"] | null;
            requested_by: components["schemas"]["Actor"];
            created_at: components["schemas"]["Time"];
            started_at: components["schemas"]["Time"] | null;
            finished_at: components["schemas"]["Time"] | null;
        };
        OperatorJobList: {
            items: components["schemas"]["OperatorJob"][];
            next_cursor: components["schemas"]["NextCursor"];
        };
        /** @enum {string} */
        StuckReason: "silent" | "repeating" | "not_claimed" | "slow" | "failed";
        StuckJob: {
            /** @example job_06ex2v3m8n4k6q1r5s7t9w0y2z */
            id: string;
            reason: components["schemas"]["StuckReason"];
            /** @description When it should have continued */
            since: components["schemas"]["Time"];
            kind: components["schemas"]["JobKind"];
            /** @example reboot */
            action: string | null;
            status: components["schemas"]["JobStatus"];
            /** @description null for a job of the control plane itself */
            region: string | null;
            organisation: {
                id: string;
                name: string;
            };
            resource: components["schemas"]["ResourceRef"];
            phase: components["schemas"]["JobPhase"] | null;
            attempt: number;
            max_attempts: number;
            next_attempt_at: components["schemas"]["Time"] | null;
            /** @description Which agent process had it last */
            agent_name: string | null;
            error: components["schemas"]["JobError"] | null;
            created_at: components["schemas"]["Time"];
        };
        StuckJobList: {
            items: components["schemas"]["StuckJob"][];
            next_cursor: components["schemas"]["NextCursor"];
        };
        /** @enum {string} */
        UsageKind: "server.started" | "server.stopped" | "server.resized" | "server.purge_scheduled" | "server.purged" | "disk.allocated" | "disk.released" | "public_ip.allocated" | "public_ip.released" | "load_balancer.traffic" | "usage.corrected";
        UsageCorrection: {
            /** @description The segment's id */
            segment: string;
            quantity: {
                vcpu?: number;
                memory_mb?: number;
                disk_gb?: number;
                count?: number;
            };
            reason: string;
        };
        UsageResource: {
            /** @enum {string} */
            type: "server" | "public_ip" | "load_balancer";
            id: string;
            /** @description As it was then */
            name: string;
        };
        UsageQuantity: {
            vcpu?: number;
            memory_mb?: number;
            disk_gb?: number;
            count?: number;
            connections?: number;
            requests?: number;
            /** @description From clients */
            bytes_in?: number;
            /** @description To clients */
            bytes_out?: number;
        };
        UsageEvent: {
            /** @example use_06ex2v3m8n4k6q1r5s7t9w0y2z */
            id: string;
            /** @description Increases within the organisation */
            seq: number;
            kind: components["schemas"]["UsageKind"];
            at: components["schemas"]["Time"];
            region: string;
            resource: components["schemas"]["UsageResource"];
            /** @description What the server belonged to then; null for one of your own */
            managed_by: components["schemas"]["ServerOwner"] | null;
            package: string | null;
            quantity: components["schemas"]["UsageQuantity"];
            /** @description The resource's labels at that time */
            labels: components["schemas"]["Labels"];
            job_id: string | null;
            /**
             * @description verify: the end of a job; reconcile: a change that was found in the region; request: a call that changes nothing in a region; meter: what was measured in the region; correction: an operator corrected a segment
             * @enum {string}
             */
            source: "verify" | "reconcile" | "request" | "meter" | "correction";
            /** @description The segment that has this event's quantity from now on */
            corrects?: string;
            /** @description Why it was corrected */
            reason?: string;
        };
        /**
         * @description compute: vCPUs and memory while a server runs; disk: as long as it exists, on or off; public_ip: as long as it is reserved
         * @enum {string}
         */
        UsageSegmentKind: "compute" | "disk" | "public_ip";
        UsageSegment: {
            /** @example seg_06ex2v3m8n4k6q1r5s7t9w0y2z_disk */
            id: string;
            kind: components["schemas"]["UsageSegmentKind"];
            start: components["schemas"]["Time"];
            /** @description null while it is ongoing */
            end: components["schemas"]["Time"] | null;
            region: string;
            resource: components["schemas"]["UsageResource"];
            /** @description What the server belonged to then; null for one of your own */
            managed_by: components["schemas"]["ServerOwner"] | null;
            package: string | null;
            quantity: components["schemas"]["UsageQuantity"];
            /** @description The resource's labels at its start */
            labels: components["schemas"]["Labels"];
        };
        UsageSegmentList: {
            items: components["schemas"]["UsageSegment"][];
            next_cursor: components["schemas"]["NextCursor"];
        };
        UsageSummaryItem: {
            /** @description The resource's id, the package, the day (YYYY-MM-DD) or the label's value; null without one */
            group: string | null;
            /** @description The resource's name at its last segment (group_by resource) */
            name: string | null;
            /** @description The resource's type (group_by resource) */
            type: string | null;
            compute_seconds: number;
            /** @description vCPUs times the seconds that they ran */
            vcpu_seconds: number;
            memory_mb_seconds: number;
            disk_seconds: number;
            disk_gb_seconds: number;
            public_ip_seconds: number;
        };
        UsageSummary: {
            group_by: string;
            from: components["schemas"]["Time"];
            /** @description The end that was counted to */
            to: components["schemas"]["Time"];
            items: components["schemas"]["UsageSummaryItem"][];
            next_cursor: components["schemas"]["NextCursor"];
        };
        UsageList: {
            items: components["schemas"]["UsageEvent"][];
            next_cursor: components["schemas"]["NextCursor"];
        };
        /**
         * @description Which invariant; docs/runbooks/invariants.md explains each and what to do about a violation
         * @enum {string}
         */
        Invariant: "I1" | "I2" | "I3" | "I4" | "I5" | "I6" | "I7" | "I8" | "I9" | "I10" | "I11" | "I12" | "I13" | "I14" | "console-ended" | "secret-kept";
        InvariantReport: {
            /** @description When the database was checked; null: the worker has not checked yet */
            checked_at: components["schemas"]["Time"] | null;
            age_seconds: number | null;
            /** @description How often the worker checks */
            interval_seconds: number | null;
            /** @description Every check has read everything since then, over several passes; null: not yet, or one fails */
            complete_since: components["schemas"]["Time"] | null;
            /** @description The worker has missed two checks, or never checked: the report may be out of date */
            stale: boolean;
            duration_ms: number | null;
            violations_total: number;
            /** @description At most 100 of each check. One stays until its place is read again, which every pass does */
            violations: components["schemas"]["InvariantViolation"][];
            checked: {
                invariant: components["schemas"]["Invariant"];
                /** @description The invariant, as a sentence */
                check: string;
                /** @description All of them */
                violations: number;
                duration_ms: number;
                /** @description Everything of it has been read since then; null: not yet everything */
                complete_since: components["schemas"]["Time"] | null;
            }[];
            not_checked: {
                invariant: components["schemas"]["Invariant"];
                reason: string;
            }[];
        };
        InvariantViolation: {
            invariant: components["schemas"]["Invariant"];
            /** @description The violated invariant, as a sentence */
            check: string;
            /** @description Where it is violated: ids, addresses, numbers */
            subject: string;
            since: components["schemas"]["Time"];
        };
        ClaimRequest: {
            /** @description Created by the agent for this claim; repeat it when the reply was lost */
            claim_id: string;
            agent_version: string;
            /** @description Which agent process this is, for operators */
            agent_name?: string;
            /** @description Job kinds this agent can run */
            capabilities: string[];
            /** @default 0 */
            wait_seconds?: number;
            /** @description The key that this agent opens secrets with. Jobs with a secret wait for an agent that has the region's key */
            public_key?: string;
        } & {
            [key: string]: unknown;
        };
        /** @enum {string} */
        ConsoleType: "serial" | "vnc";
        ConsoleOpen: {
            /** @description By default what the operating system has: `serial` for Linux, `vnc` for Windows */
            type?: components["schemas"]["ConsoleType"];
            /**
             * @description End another caller's session of this console
             * @default false
             */
            take_over?: boolean;
        };
        ConsoleTicket: {
            /** @example con_06ex2v3m8n4k6q1r5s7t9w0y2z */
            session_id: string;
            type: components["schemas"]["ConsoleType"];
            /** @description Where to open the websocket (`wss`) */
            url: string;
            /** @example kule.console.serial.v1 */
            protocol: string;
            /** @description Opens one websocket; shown once. `null` on an idempotent replay */
            ticket: string | null;
            /** @description Until when the ticket is valid */
            expires_at: components["schemas"]["Time"];
            /** @description Idle timeout: the session ends after this time without input */
            idle_seconds: number;
            /** @description Maximum duration of the session */
            length_seconds: number;
            features: ("paste" | "resize" | "ctrl_alt_del")[];
            /** @description true on an idempotent replay */
            secret_withheld?: boolean;
        };
        ConsoleSession: {
            /** @example con_06ex2v3m8n4k6q1r5s7t9w0y2z */
            id: string;
            server_id: string;
            type: components["schemas"]["ConsoleType"];
            state: components["schemas"]["ConsoleSessionState"];
            /** @description Who requested it */
            actor: components["schemas"]["Actor"];
            /** @description true for a session that the caller requested */
            is_own: boolean;
            /** @description What was typed, in bytes */
            bytes_in: number;
            /** @description What the machine showed, in bytes */
            bytes_out: number;
            /** @description When its ticket was requested */
            created_at: components["schemas"]["Time"];
            /** @description When the machine answered; null before that */
            opened_at: components["schemas"]["Time"] | null;
            /** @description When there was last a key press or pointer movement; null before that */
            last_activity_at: components["schemas"]["Time"] | null;
        };
        /**
         * @description `ticketed`: the ticket was not presented yet; `connecting`: its websocket is open, the machine does not answer
         *     yet; `open`: the machine answers
         * @enum {string}
         */
        ConsoleSessionState: "ticketed" | "connecting" | "open";
        ConsoleSessionList: {
            items: components["schemas"]["ConsoleSession"][];
            next_cursor: components["schemas"]["NextCursor"];
        };
        ConsoleClaim: {
            /** @description Created by the agent for this claim; repeat it when the reply was lost */
            claim_id: string;
            agent_version: string;
            agent_name?: string;
            /** @default 0 */
            wait_seconds?: number;
        } & {
            [key: string]: unknown;
        };
        ClaimedConsole: {
            console: {
                /** @enum {string} */
                kind: "ConsoleOpen";
                session_id: string;
                type: components["schemas"]["ConsoleType"];
                server: components["schemas"]["PayloadServer"];
                vmid: number;
                /** @description How long the API waits for the agent's websocket */
                connect_seconds: number;
            };
        };
        ClaimedJob: {
            job: {
                id: string;
                kind: components["schemas"]["JobKind"];
                attempt: number;
                /** @description Fencing token; send it with every report */
                epoch: number;
                lease_seconds: number;
                lease_expires_at: components["schemas"]["Time"];
                cancel_requested: boolean;
                payload: components["schemas"]["JobPayload"];
            };
        };
        /** @description Everything the job needs, chosen by the control plane; rendered from current intent when it is claimed. An agent ignores fields it does not know; what an older agent must not ignore comes as a new kind */
        JobPayload: components["schemas"]["ServerCreatePayload"] | components["schemas"]["ServerAdoptPayload"] | components["schemas"]["ServerStopPayload"] | components["schemas"]["ServerRestorePayload"] | components["schemas"]["ServerDestroyPayload"] | components["schemas"]["ServerPowerPayload"] | components["schemas"]["ServerResizePayload"] | components["schemas"]["ServerRebuildPayload"] | components["schemas"]["ServerPasswordResetPayload"] | components["schemas"]["ServerUpdatePayload"] | components["schemas"]["ServerReconcilePayload"] | components["schemas"]["PublicIpAttachPayload"] | components["schemas"]["PublicIpDetachPayload"] | components["schemas"]["FirewallApplyPayload"] | components["schemas"]["NetworkApplyPayload"] | components["schemas"]["LoadBalancerApplyPayload"] | components["schemas"]["DomainApplyPayload"] | components["schemas"]["CertificateRequestPayload"];
        PayloadServer: {
            id: string;
            organisation_id: string;
            name: string;
        } & {
            [key: string]: unknown;
        };
        PayloadPackage: {
            vcpu: number;
            memory_mb: number;
            disk_gb: number;
        } & {
            [key: string]: unknown;
        };
        /** @description The interfaces in private networks; the first is the VM's first */
        PayloadInterfaces: ({
            id: string;
            mac: string;
            vlan: number;
            address: string;
            /** @description What the guest may use besides, such as the address that it shares with another server */
            additional_addresses?: string[];
            prefix_length: number;
            /** @description The block of the whole network: the guest reaches it by this interface, whatever its default route is */
            network_cidr?: string;
            /** @description null: the guest's default route is by its public interface, or there is none */
            gateway: string | null;
            dns_servers: string[];
            search_domain: string;
        } & {
            [key: string]: unknown;
        })[];
        /** @description The interface in the region's public network, which comes after the private ones; null for none */
        PayloadPublicInterface: ({
            mac: string;
            /** @description null: the one that the region file names */
            vlan: number | null;
            /** @description One of each IP version at most; none when the guest itself brings those of `additional_addresses` */
            addresses: ({
                version: components["schemas"]["IpVersion"];
                address: string;
                prefix_length: number;
                gateway: string;
            } & {
                [key: string]: unknown;
            })[];
            /** @description What the guest may use besides and configures itself, such as the address that it shares with another server */
            additional_addresses?: string[];
        } & {
            [key: string]: unknown;
        }) | null;
        ServerCreatePayload: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "ServerCreate";
            server: components["schemas"]["PayloadServer"];
            vmid: number;
            /** @description The organisation's pool, without the region's prefix rules: kule-<organisation id> */
            pool: string;
            tags: string[];
            /** @description Image slug; the region file maps it to a template */
            template: string;
            /** @enum {string} */
            os_family: "linux" | "windows";
            default_user: string;
            package: components["schemas"]["PayloadPackage"];
            interfaces: components["schemas"]["PayloadInterfaces"];
            public_interface?: components["schemas"]["PayloadPublicInterface"];
            filter?: components["schemas"]["PayloadFilter"];
            ssh_public_keys: string[];
            /** @description $6$ crypt, for Linux */
            password_hash: string | null;
            /** @description Sealed to the agent's public key, for Windows */
            sealed_password: string | null;
            start: boolean;
            /** @description The node to create it on; null or left out: the region file decides */
            node?: string | null;
            /** @description The guest can reach package mirrors at first boot */
            egress: boolean;
        } & {
            [key: string]: unknown;
        };
        ServerAdoptPayload: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "ServerAdopt";
            server: components["schemas"]["PayloadServer"];
            vmid: number;
            tags: string[];
            /** @description Which the VM joins; left out by older control planes */
            pool?: string;
        } & {
            [key: string]: unknown;
        };
        ServerStopPayload: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "ServerStop";
            server: components["schemas"]["PayloadServer"];
            vmid: number;
            /** @description False: the server was to import a VM and did not. A VM with its number is not to be touched */
            taken_over?: boolean;
        } & {
            [key: string]: unknown;
        };
        ServerRestorePayload: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "ServerRestore";
            server: components["schemas"]["PayloadServer"];
            vmid: number;
            /** @description It ran before it was marked for removal */
            start: boolean;
        } & {
            [key: string]: unknown;
        };
        ServerDestroyPayload: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "ServerDestroy";
            server: components["schemas"]["PayloadServer"];
            vmid: number;
            /** @description False: the server was to import a VM and did not. A VM with its number is not to be touched */
            taken_over?: boolean;
        } & {
            [key: string]: unknown;
        };
        ServerPowerPayload: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "ServerPower";
            server: components["schemas"]["PayloadServer"];
            vmid: number;
            /** @enum {string} */
            action: "start" | "shutdown" | "stop" | "reboot" | "reset";
            timeout_seconds: number;
            force_after: boolean;
        } & {
            [key: string]: unknown;
        };
        ServerResizePayload: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "ServerResize";
            server: components["schemas"]["PayloadServer"];
            vmid: number;
            package: components["schemas"]["PayloadPackage"];
            /** @description It is to run at its end: it ran when the resize was requested, or it is of a load balancer */
            run: boolean;
        } & {
            [key: string]: unknown;
        };
        /** @description The VM's wanted interfaces; others are removed */
        PublicIpAttachPayload: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "PublicIpAttach";
            server: components["schemas"]["PayloadServer"];
            vmid: number;
            interfaces: components["schemas"]["PayloadInterfaces"];
            public_interface: components["schemas"]["PayloadPublicInterface"];
            filter?: components["schemas"]["PayloadFilter"];
            guest_network: components["schemas"]["GuestNetwork"];
        } & {
            [key: string]: unknown;
        };
        /** @description The VM's wanted interfaces; others are removed */
        PublicIpDetachPayload: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "PublicIpDetach";
            server: components["schemas"]["PayloadServer"];
            vmid: number;
            interfaces: components["schemas"]["PayloadInterfaces"];
            public_interface: components["schemas"]["PayloadPublicInterface"];
            filter?: components["schemas"]["PayloadFilter"];
            guest_network: components["schemas"]["GuestNetwork"];
        } & {
            [key: string]: unknown;
        };
        /**
         * @description How an address is configured in the image's running guest; `none` for guests that get it at their next boot
         * @enum {string}
         */
        GuestNetwork: "netplan" | "network_manager" | "none";
        /** @description As for a create; the VM is recreated under its number unless this job has created it */
        ServerRebuildPayload: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "ServerRebuild";
            server: components["schemas"]["PayloadServer"];
            vmid: number;
            /** @description The organisation's pool, without the region's prefix rules: kule-<organisation id> */
            pool: string;
            tags: string[];
            /** @description Image slug; the region file maps it to a template */
            template: string;
            /** @enum {string} */
            os_family: "linux" | "windows";
            default_user: string;
            package: components["schemas"]["PayloadPackage"];
            interfaces: components["schemas"]["PayloadInterfaces"];
            public_interface?: components["schemas"]["PayloadPublicInterface"];
            filter?: components["schemas"]["PayloadFilter"];
            ssh_public_keys: string[];
            /** @description $6$ crypt, for Linux */
            password_hash: string | null;
            /** @description Sealed to the agent's public key, for Windows */
            sealed_password: string | null;
            start: boolean;
            /** @description The node to create it on; null or left out: the region file decides */
            node?: string | null;
            /** @description The guest can reach package mirrors at first boot */
            egress: boolean;
        } & {
            [key: string]: unknown;
        };
        ServerPasswordResetPayload: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "ServerPasswordReset";
            server: components["schemas"]["PayloadServer"];
            vmid: number;
            /** @enum {string} */
            os_family: "linux" | "windows";
            username: string;
            /** @enum {string} */
            when: "now" | "next_boot";
            /** @description $6$ crypt, for Linux */
            password_hash: string | null;
            /** @description Sealed to the agent's public key, for Windows */
            sealed_password: string | null;
        } & {
            [key: string]: unknown;
        };
        /**
         * @description The rules of all firewalls of the server as one list, the first that matches decides. Left out: none are attached,
         *     and everything passes but what is not the server's own
         */
        PayloadFilter: {
            /** @description Identifies all of this; the agent reports it once the VM has it */
            id: string;
            /** @description Traffic that no rule allows in is dropped */
            is_filtered: boolean;
            rules: ({
                id: string;
                /** @enum {string} */
                direction: "in" | "out";
                /** @enum {string} */
                action: "allow" | "deny";
                protocol: components["schemas"]["FirewallRuleProtocol"];
                ports: string[];
                /** @description On which of the server's interfaces; null for all of them */
                side: ("private" | "public") | null;
                /** @description Addresses and blocks of the peers; null for any */
                addresses: string[] | null;
            } & {
                [key: string]: unknown;
            })[];
        } & {
            [key: string]: unknown;
        };
        /** @description The VM's wanted filter; other rules are removed */
        FirewallApplyPayload: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "FirewallApply";
            server: components["schemas"]["PayloadServer"];
            vmid: number;
            interfaces: components["schemas"]["PayloadInterfaces"];
            public_interface: components["schemas"]["PayloadPublicInterface"];
            filter: components["schemas"]["PayloadFilter"];
        } & {
            [key: string]: unknown;
        };
        PayloadEdgeSubnet: {
            id: string;
            tier: components["schemas"]["Tier"];
            vlan: number;
            cidr: string;
            /** @description The subnet's own address for its router */
            gateway_address: string;
        } & {
            [key: string]: unknown;
        };
        PayloadEdgeGateway: {
            id: string;
            /** @description The public address that everything leaves with */
            address: string;
            prefix_length: number;
            next_hop: string;
            /** @description Of the uplink; null: untagged */
            vlan: number | null;
            /** @description Never one of tier data */
            subnet_ids: string[];
            port_forwards: ({
                /** @enum {string} */
                protocol: "tcp" | "udp";
                listen_port: number;
                target_address: string;
                target_port: number;
            } & {
                [key: string]: unknown;
            })[];
        } & {
            [key: string]: unknown;
        };
        /** @description All of one network as the region's edge is to have it; what the edge has beyond this is removed */
        NetworkApplyPayload: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "NetworkApply";
            network: {
                id: string;
                organisation_id: string;
            } & {
                [key: string]: unknown;
            };
            /** @description Of the intent that this is; an older one never replaces a newer one */
            generation: number;
            /** @enum {string} */
            state: "present" | "gone";
            subnets: components["schemas"]["PayloadEdgeSubnet"][];
            gateway: components["schemas"]["PayloadEdgeGateway"] | null;
        } & {
            [key: string]: unknown;
        };
        PayloadListener: {
            id: string;
            /** @enum {string} */
            protocol: "tcp" | "http" | "https" | "tls_passthrough";
            port: number;
            target_port: number;
            /** @description Every request is answered with a redirect */
            redirect_to_https: boolean;
            sticky: ({
                cookie_name: string;
                /** @description null: until the client's browser is closed */
                ttl_seconds: number | null;
            } & {
                [key: string]: unknown;
            }) | null;
            /** @enum {string} */
            proxy_protocol: "none" | "v1" | "v2";
            idle_timeout_seconds: number;
            /** @description None: all clients may connect */
            allowed_cidrs: string[];
            health_check: {
                /** @enum {string} */
                protocol: "tcp" | "http";
                /** @description null: the target port */
                port: number | null;
                path: string | null;
                host: string | null;
                expected_codes: string | null;
                interval_seconds: number;
                timeout_seconds: number;
                healthy_threshold: number;
                unhealthy_threshold: number;
            } & {
                [key: string]: unknown;
            };
            /** @description Of an https listener; the first is no default, a client has to name its host */
            certificates: ({
                /** @description Of one of the payload's `certificates` */
                id: string;
                domain_names: string[];
            } & {
                [key: string]: unknown;
            })[];
        } & {
            [key: string]: unknown;
        };
        /** @description One address that gets traffic */
        PayloadTarget: {
            target_id: string;
            /** @description The server that the target's label selector has found */
            selected_server_id: string | null;
            /** @description IPv4 */
            address: string;
            weight: number;
            backup: boolean;
            drain: boolean;
        } & {
            [key: string]: unknown;
        };
        /** @description One of the managed servers that a load balancer runs on */
        PayloadMachine: {
            /** @enum {integer} */
            slot: 1 | 2;
            server_id: string;
            vmid: number;
            /** @description IPv4, in the subnet */
            address: string;
            /** @description Of the other machine; null with one machine */
            peer_address: string | null;
            /** @description The guest's interface in the subnet */
            interface_name: string;
            max_connections: number;
            /** @description False for a machine that has never had a state: it may still boot, so its guest agent is awaited for longer */
            has_state: boolean;
        } & {
            [key: string]: unknown;
        };
        /** @description All of one load balancer as its machines are to have it; what they have beyond this is removed */
        LoadBalancerApplyPayload: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "LoadBalancerApply";
            load_balancer: {
                id: string;
            } & {
                [key: string]: unknown;
            };
            /** @description Of the intent that this is; an older one never replaces a newer one */
            generation: number;
            /** @enum {string} */
            algorithm: "round_robin" | "least_connections" | "source_hash";
            listeners: components["schemas"]["PayloadListener"][];
            targets: components["schemas"]["PayloadTarget"][];
            /** @description The address that both machines can have, and what moves with it; null with one machine */
            high_availability: ({
                /** @description IPv4, in the subnet */
                virtual_address: string;
                /** @description Of the subnet */
                prefix_length: number;
                /** @description 1 to 255, unique in the subnet */
                vrid: number;
                public_address: ({
                    address: string;
                    prefix_length: number;
                    /** @description Through which answers leave; null: the machine has a route of its own */
                    gateway: string | null;
                    /** @description The guest's interface in the public segment */
                    interface_name: string;
                } & {
                    [key: string]: unknown;
                }) | null;
            } & {
                [key: string]: unknown;
            }) | null;
            /** @description Of the ACME account's key, to answer HTTP-01 at port 80; null: no certificate is proven here */
            acme_thumbprint: string | null;
            /** @description Those that the listeners name */
            certificates: ({
                id: string;
                /** @description The certificate and what leads from it to a root, PEM in this order */
                chain: string;
                /** @description Its private key, PEM, sealed to the region's agent */
                sealed: string;
                /** @description With which it was sealed */
                context: string;
            } & {
                [key: string]: unknown;
            })[];
            machines: components["schemas"]["PayloadMachine"][];
        } & {
            [key: string]: unknown;
        };
        /** @description All of one zone as the DNS provider is to have it; what the provider has beyond this is removed. A job of the control plane itself */
        DomainApplyPayload: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "DomainApply";
            /** @description Of the intent that this is */
            generation: number;
            /** @enum {string} */
            state: "present" | "gone";
            zone: {
                /** @description Lower case, in ASCII, without the final dot */
                name: string;
                /** @description Absolute names: the NS of the apex */
                name_servers: string[];
                /** @description Of the NS of the apex, in seconds */
                name_server_ttl: number;
                /** @description Whether the zone is signed */
                dnssec: boolean;
                record_sets: ({
                    /** @description Relative to the zone; `@` is the apex */
                    name: string;
                    type: string;
                    /** @description In seconds */
                    ttl: number;
                    /** @description A set without values is not wanted */
                    values: string[];
                } & {
                    [key: string]: unknown;
                })[];
            } & {
                [key: string]: unknown;
            };
        } & {
            [key: string]: unknown;
        };
        /** @description A private key for a certificate, made in the region and sealed to the region's agent, and the request that the CA is given */
        CertificateRequestPayload: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "CertificateRequest";
            certificate: {
                id: string;
                organisation_id: string;
            } & {
                [key: string]: unknown;
            };
            version: number;
            domain_names: string[];
            /** @description The agent's own key as the control plane knows it; the private key is sealed to it */
            public_key: string;
            /** @description What the private key is sealed for */
            context: string;
        } & {
            [key: string]: unknown;
        };
        ServerUpdatePayload: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "ServerUpdate";
            server: components["schemas"]["PayloadServer"];
            vmid: number;
            /** @enum {string} */
            os_family: "linux" | "windows";
        } & {
            [key: string]: unknown;
        };
        /** @description The VM's wanted marks, interfaces, filter and pool; other interfaces are removed */
        ServerReconcilePayload: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "ServerReconcile";
            server: components["schemas"]["PayloadServer"];
            vmid: number;
            pool: string;
            tags: string[];
            interfaces: components["schemas"]["PayloadInterfaces"];
            public_interface: components["schemas"]["PayloadPublicInterface"];
            filter: components["schemas"]["PayloadFilter"];
        } & {
            [key: string]: unknown;
        };
        AgentText: string;
        StepReport: {
            epoch: number;
            /** @description Counts up from 1 within an epoch */
            seq: number;
            phase?: components["schemas"]["JobPhase"];
            /**
             * @description Never decreases. A report that names a phase or a step without it means the least of that phase; one that
             *     names neither leaves it as it was.
             */
            progress?: number;
            step?: components["schemas"]["ReportedStep"];
            /**
             * @description What happened since the last report, in its order and before `step`: the end of one step is sent with the
             *     beginning of the next one. Each has a number of its own: `seq` of the report counts them too.
             */
            earlier_steps?: ({
                phase: components["schemas"]["JobPhase"];
                name: components["schemas"]["StepName"];
                status: components["schemas"]["StepStatus"];
                message?: components["schemas"]["AgentText"] | null;
                external_ref?: string | null;
            } & {
                [key: string]: unknown;
            })[];
            /** @description From here on the job cannot be cancelled */
            irreversible?: boolean;
            outcome?: components["schemas"]["JobOutcome"];
        } & {
            [key: string]: unknown;
        };
        ReportedStep: {
            name: components["schemas"]["StepName"];
            status: components["schemas"]["StepStatus"];
            message?: components["schemas"]["AgentText"] | null;
            external_ref?: string | null;
        } & {
            [key: string]: unknown;
        };
        StepName: string;
        /** @enum {string} */
        StepStatus: "running" | "succeeded" | "skipped" | "failed";
        /** @description How it ended; `retry` schedules another attempt with a backoff, `released` at once (the agent stops) */
        JobOutcome: {
            /** @enum {string} */
            status: "succeeded" | "failed" | "cancelled" | "retry" | "released";
            error?: {
                code: string;
                /** @description For the user */
                message: components["schemas"]["AgentText"];
                /** @description For operators: task logs and the like */
                internal?: string;
                step?: string | null;
                retryable?: boolean;
            } & {
                [key: string]: unknown;
            };
            /** @description What Verify read back */
            observed?: {
                /** @enum {string} */
                power_state?: "on" | "off" | "unknown";
                node?: string;
                /** @description Of the disk that the VM boots from, when the job could have changed it */
                disk_bytes?: number | null;
                /**
                 * @description Whether the guest has its public addresses now, or configures them when it boots
                 * @enum {string}
                 */
                public_network?: "applied" | "next_boot";
                /** @description The payload's filter, once the VM has it */
                filter?: string;
                /** @description The payload's generation, once the edge has that of the network or a newer one */
                network_generation?: number;
                /** @description Of a DomainApply: what the DNS provider and the name servers have now */
                domain?: {
                    /** @description The payload's */
                    generation: number;
                    /** @description Of the zone; null when it is gone */
                    serial: number | null;
                    /** @description DS records for the parent zone; none when the zone is not signed */
                    ds: string[];
                } & {
                    [key: string]: unknown;
                };
                /** @description Of a CertificateRequest */
                certificate_request?: {
                    /** @description The payload's */
                    version: number;
                    /** @description PKCS #10 in DER, base64 */
                    csr: string;
                    sealed_key: string;
                    /** @description The payload's */
                    public_key: string;
                } & {
                    [key: string]: unknown;
                };
                /** @description Of a LoadBalancerApply: what each machine has now */
                load_balancer?: {
                    /** @description The payload's */
                    generation: number;
                    machines: ({
                        /** @enum {integer} */
                        slot: 1 | 2;
                        /**
                         * @description `refused`: it has the state before; `silent`: it did not answer
                         * @enum {string}
                         */
                        outcome: "applied" | "refused" | "silent";
                        /** @description Of the state in force; 0 before the first, null when it is not known */
                        generation: number | null;
                        /** @description Of two machines the active one has the address; null when it is not known */
                        role: ("active" | "standby") | null;
                    } & {
                        [key: string]: unknown;
                    })[];
                } & {
                    [key: string]: unknown;
                };
                /**
                 * @description The VMID is used by another VM or cannot be freed; allocate another
                 * @enum {string}
                 */
                vmid_unusable?: "taken" | "quarantined";
            } & {
                [key: string]: unknown;
            };
        } & {
            [key: string]: unknown;
        };
        StepAck: {
            lease_expires_at: components["schemas"]["Time"] | null;
            cancel_requested: boolean;
            status: components["schemas"]["JobStatus"];
        };
        LoadBalancerReport: {
            agent_version: string;
            agent_name?: string;
            reports: components["schemas"]["LoadBalancerMachineReport"][];
            /** @description `next` of the call before; null for the first machines; left out: none are wanted */
            after?: string | null;
        } & {
            [key: string]: unknown;
        };
        LoadBalancerMachineReport: {
            load_balancer_id: string;
            /** @enum {integer} */
            slot: 1 | 2;
            server_id: string;
            /** @description How long before this call it was asked, by the agent's monotonic clock */
            asked_after_ms: number;
            /** @description How long before this call it answered; null when it did not */
            seen_after_ms: number | null;
            /** @description Null when it was asked and did not answer */
            status: components["schemas"]["LoadBalancerMachineStatus"] | null;
        } & {
            [key: string]: unknown;
        };
        ReportedCount: number | null;
        /** @description What the machine says of itself. Numbers are null where haproxy has none. Counters are since its worker was started. */
        LoadBalancerMachineStatus: {
            boot_id: string;
            generation: components["schemas"]["ReportedCount"];
            worker_pid: components["schemas"]["ReportedCount"];
            worker_started: components["schemas"]["ReportedCount"];
            old_workers: number;
            failed_reloads: components["schemas"]["ReportedCount"];
            connections: components["schemas"]["ReportedCount"];
            most_connections: components["schemas"]["ReportedCount"];
            role: ("master" | "backup") | null;
            listeners: ({
                id: string;
                is_open: boolean;
                connections: components["schemas"]["ReportedCount"];
                connections_per_second: components["schemas"]["ReportedCount"];
                requests_per_second: components["schemas"]["ReportedCount"];
                connections_denied: components["schemas"]["ReportedCount"];
                requests_denied: components["schemas"]["ReportedCount"];
                request_errors: components["schemas"]["ReportedCount"];
                /** @description Answers by the first digit of their code, 1 to 5 */
                responses: components["schemas"]["ReportedCount"][];
                connections_total: components["schemas"]["ReportedCount"];
                requests_total: components["schemas"]["ReportedCount"];
                /** @description Answers with 500 to 599 */
                errors_total?: components["schemas"]["ReportedCount"];
                bytes_in: components["schemas"]["ReportedCount"];
                bytes_out: components["schemas"]["ReportedCount"];
            } & {
                [key: string]: unknown;
            })[];
            /** @description What workers before the last reloads have counted, or still count while their last connections end */
            former: ({
                worker_pid: number;
                listener_id: string;
                connections_total: components["schemas"]["ReportedCount"];
                requests_total: components["schemas"]["ReportedCount"];
                /** @description Answers with 500 to 599 */
                errors_total?: components["schemas"]["ReportedCount"];
                bytes_in: components["schemas"]["ReportedCount"];
                bytes_out: components["schemas"]["ReportedCount"];
            } & {
                [key: string]: unknown;
            })[];
            /**
             * @description The health checks of a listener that have the same result, in haproxy's words, with the targets that they are of.
             *     Together they name at most 8,192.
             */
            checks: ({
                listener_id: string;
                status: string;
                check_status: string;
                check_code: components["schemas"]["ReportedCount"];
                /** @description Empty for targets that are up */
                last_check: string;
                /** @description As in the machine's configuration */
                servers: string[];
            } & {
                [key: string]: unknown;
            })[];
            omitted_listeners: number;
            /** @description Of which nothing is said for want of room */
            omitted_targets: number;
        } & {
            [key: string]: unknown;
        };
        LoadBalancerReportAck: {
            machines: {
                load_balancer_id: string;
                /** @enum {integer} */
                slot: 1 | 2;
                server_id: string;
                vmid: number;
                listener_ids: string[];
                /**
                 * @description The targets by their names in the machine's configuration, `tgt_…` or `tgt_….srv_…`: every listener that
                 *     does not only redirect has all of them
                 */
                servers: string[];
            }[];
            /** @description null: these are the last machines */
            next: string | null;
            /** @description Begin a round every so many seconds */
            round_seconds: number;
        };
        HypervisorHealth: {
            kind: string;
            reachable: boolean;
            version?: string | null;
            message?: string | null;
            nodes?: ({
                name: string;
                online: boolean;
            } & {
                [key: string]: unknown;
            })[];
        } & {
            [key: string]: unknown;
        };
        TemplateHealth: {
            image: string;
            ok: boolean;
            message?: string | null;
        } & {
            [key: string]: unknown;
        };
        HealthReport: {
            agent_version: string;
            agent_name?: string;
            hypervisor: components["schemas"]["HypervisorHealth"];
            templates?: components["schemas"]["TemplateHealth"][];
            /** @description X25519, base64. Secrets for Windows guests are sealed to the first one that the region reports; another one waits for an operator */
            public_key?: string;
            /** @description The edge in the region file, and what was seen there; null without one. An agent that leaves it out is too old to know */
            edge?: components["schemas"]["EdgeHealth"] | null;
            architecture?: components["schemas"]["AgentArchitecture"];
            /** @description It is installed by `kule-agent install` and its binary has the publisher's keys. An agent that leaves it out cannot */
            can_update?: boolean;
            /** @description Its last update, or the one that it is at; null before the first */
            update?: components["schemas"]["AgentUpdate"] | null;
        } & {
            [key: string]: unknown;
        };
        /** @enum {string} */
        AgentArchitecture: "x64" | "arm64";
        /**
         * @description `draining`: verified, and no job is claimed until those that it holds have ended. `swapped`: the new version runs and has
         *     not proven itself yet. `refused`: the release is none that this agent accepts. `rolled_back`: the new version ran and the
         *     old one runs again. `failed`: the new version never ran.
         * @enum {string}
         */
        AgentUpdateState: "downloading" | "verified" | "draining" | "swapped" | "done" | "refused" | "rolled_back" | "failed";
        AgentUpdate: {
            version: components["schemas"]["AgentVersion"];
            state: components["schemas"]["AgentUpdateState"];
            /**
             * @description Why, in a word
             * @example signature_wrong
             */
            code: string | null;
            /** @description Why, in words */
            message: string | null;
            /** @description When it came to this state, by the agent's clock */
            at: components["schemas"]["Time"];
        } & {
            [key: string]: unknown;
        };
        /**
         * @example 1.4.0
         * @example 1.4.0-rc.2
         */
        AgentVersion: string;
        SignedEnvelope: {
            /** @description JSON in base64 */
            payload: string;
            signatures: {
                /** @description The ed25519 public key, 32 bytes in base64 */
                key: string;
                /** @description Of the payload's bytes after a line with its kind, 64 bytes in base64 */
                signature: string;
            }[];
        };
        AgentReleaseKeys: {
            envelopes: components["schemas"]["SignedEnvelope"][];
        };
        AgentReleaseManifest: {
            manifest: components["schemas"]["SignedEnvelope"];
        };
        /**
         * @description `candidate` has the releases of `stable` too
         * @enum {string}
         */
        AgentChannel: "stable" | "candidate";
        AgentReleases: {
            /** @description The control plane has a folder of releases */
            configured: boolean;
            /** @description When the folder was read last; null without one */
            read_at: components["schemas"]["Time"] | null;
            releases: components["schemas"]["AgentReleaseInfo"][];
            /** @description What in the folder is not a release that can be offered, and why */
            problems: {
                /** @description Within the folder */
                path: string;
                message: string;
            }[];
        };
        /** @description What the manifest says. Only agents verify its signature */
        AgentReleaseInfo: {
            version: components["schemas"]["AgentVersion"];
            channel: components["schemas"]["AgentChannel"];
            released_at: components["schemas"]["Time"];
            /** @description Agents refuse it afterwards */
            expires_at: components["schemas"]["Time"];
            expired: boolean;
            /** @description Agents update from no older one */
            minimum_previous_version: components["schemas"]["AgentVersion"];
            /** @description Agents accept it although they run a newer one */
            rollback_to: boolean;
            files: {
                architecture: components["schemas"]["AgentArchitecture"];
                size_bytes: number;
                sha256: string;
                /** @description Why agents are not offered the file; null: they are */
                problem: string | null;
            }[];
        };
        /** @description By UTC. With a `to_time` that is not after `from_time` it ends on the next day; the days are those on which it begins. */
        AgentUpdateWindow: {
            days: ("mon" | "tue" | "wed" | "thu" | "fri" | "sat" | "sun")[];
            from_time: components["schemas"]["TimeOfDay"];
            to_time: components["schemas"]["TimeOfDay"];
        };
        /** @example 22:00 */
        TimeOfDay: string;
        AgentUpdateSettings: {
            /** @description Of the rollouts that start by themselves */
            channel: components["schemas"]["AgentChannel"];
            /** @description When a region may be offered a version; null is always */
            window: components["schemas"]["AgentUpdateWindow"] | null;
            /** @description No region is offered a version */
            paused: boolean;
            /** @description From the first region's update to the next offers */
            wait_minutes: number;
            /** @description Regions that are updated at the same time */
            max_at_once: number;
            /** @description A new release of the channel starts a rollout by itself */
            automatic: boolean;
            generation: number;
            created_at: components["schemas"]["Time"];
            updated_at: components["schemas"]["Time"];
        };
        AgentUpdateSettingsUpdate: {
            channel?: components["schemas"]["AgentChannel"];
            window?: components["schemas"]["AgentUpdateWindow"] | null;
            paused?: boolean;
            wait_minutes?: number;
            max_at_once?: number;
            automatic?: boolean;
        };
        /**
         * @description `stopped`: a region got worse, and no further one is offered the version until an operator resumes or cancels. `running`,
         *     `paused` and `stopped` rollouts are open.
         * @enum {string}
         */
        AgentRolloutStatus: "running" | "paused" | "stopped" | "done" | "cancelled";
        /**
         * @description What a running rollout waits for: the updates of regions that were offered the version; the time after the first region;
         *     the window; an end of the pause in the settings.
         * @enum {string}
         */
        AgentRolloutWait: "regions" | "time" | "window" | "paused_settings";
        /** @enum {string} */
        AgentRolloutRegionState: "waiting" | "offered" | "updated" | "failed" | "skipped";
        AgentRollout: {
            /** @example rol_06ex2v3m8n4k6q1r5s7t9w0y2z */
            id: string;
            version: components["schemas"]["AgentVersion"];
            status: components["schemas"]["AgentRolloutStatus"];
            /** @description Why it stopped */
            reason: string | null;
            /** @description It started by itself */
            automatic: boolean;
            /** @description Null when there is none that can be updated */
            first_region: string | null;
            regions_count: {
                waiting: number;
                offered: number;
                updated: number;
                failed: number;
                skipped: number;
            };
            waits_for: components["schemas"]["AgentRolloutWait"] | null;
            waits_until: components["schemas"]["Time"] | null;
            /** @description In the order in which they are offered the version; left out in lists */
            regions?: components["schemas"]["AgentRolloutRegion"][];
            created_at: components["schemas"]["Time"];
            ended_at: components["schemas"]["Time"] | null;
        };
        AgentRolloutRegion: {
            region: string;
            state: components["schemas"]["AgentRolloutRegionState"];
            /** @description Why it failed or was skipped */
            reason: string | null;
            offered_at: components["schemas"]["Time"] | null;
            /** @description When it was updated, failed or was skipped */
            ended_at: components["schemas"]["Time"] | null;
            /** @description The agents of the region that reported in the last minute */
            agents: components["schemas"]["RegionAgent"][];
        };
        AgentRolloutList: {
            items: components["schemas"]["AgentRollout"][];
            next_cursor: components["schemas"]["NextCursor"];
        };
        AgentRolloutCreate: {
            version: components["schemas"]["AgentVersion"];
            /** @description Null or left out: the region with the fewest servers */
            first_region?: string | null;
        };
        RegionAgent: {
            name: string | null;
            version: string;
            architecture: components["schemas"]["AgentArchitecture"] | null;
            can_update: boolean;
            update: components["schemas"]["AgentUpdate"] | null;
            reported_at: components["schemas"]["Time"];
        };
        EdgeHealth: {
            reachable: boolean;
            message?: string | null;
            /** @description The networks that have a namespace there, when it answered */
            networks?: string[];
        } & {
            [key: string]: unknown;
        };
        HealthAck: {
            region: string;
            server_time: components["schemas"]["Time"];
            /**
             * @description Whether secrets are sealed to the key of the report; left out when it named none
             * @enum {string}
             */
            agent_key?: "in_use" | "waits_for_approval";
            /** @description The version that this agent is to have now; null: nothing to do. A control plane that leaves it out knows no releases */
            update_to?: components["schemas"]["AgentVersion"] | null;
        };
        /**
         * @description How far `power_state`, `guest` and `status` can be trusted. `fresh`: seen lately; `stale`: `observed_at` is long ago, or the region is silent, and it may be out of date; `none`: never seen
         * @enum {string}
         */
        Observation: "none" | "fresh" | "stale";
        /** @enum {string} */
        CloudInitState: "unknown" | "running" | "done" | "error";
        Guest: {
            /** @description The guest agent answers */
            agent: boolean;
            cloud_init: components["schemas"]["CloudInitState"];
            /** @example Ubuntu 24.04.1 LTS */
            os: string | null;
            hostname: string | null;
            /** @description Of all interfaces, as the guest has them */
            addresses: string[];
            /** @description When its machine was switched on */
            boot_at: components["schemas"]["Time"] | null;
        };
        /** @enum {string} */
        DriftKind: "changed" | "missing" | "foreign" | "extra";
        DriftDifference: {
            /** @example memory_mb */
            field: string;
            wanted: string | null;
            seen: string | null;
        };
        ServerDrift: {
            /** @enum {string} */
            kind: "changed" | "missing";
            since: components["schemas"]["Time"];
            differences: components["schemas"]["DriftDifference"][];
        };
        Drift: {
            /** @example drf_06ex2v3m8n4k6q1r5s7t9w0y2z */
            id: string;
            kind: components["schemas"]["DriftKind"];
            region: string;
            vmid: number;
            node: string | null;
            vm_name: string | null;
            /** @description The organisation of the server, if there is one */
            organisation_id: string | null;
            server_id: string | null;
            /** @description The server that the VM is marked for */
            marker: string | null;
            message: string;
            differences: components["schemas"]["DriftDifference"][];
            first_seen_at: components["schemas"]["Time"];
            last_seen_at: components["schemas"]["Time"];
        };
        DriftList: {
            items: components["schemas"]["Drift"][];
            next_cursor: components["schemas"]["NextCursor"];
        };
        RegionRestoreUpdate: {
            /** @constant */
            accept_incomplete_scan?: true;
            /** @constant */
            ended?: true;
        };
        RegionRestore: {
            region: string;
            /** @enum {string} */
            state: "waiting" | "scanned" | "ended";
            /** @description When the scan began by which it is known what is in use */
            scanned_at: components["schemas"]["Time"] | null;
            ended_at: components["schemas"]["Time"] | null;
            accepts_incomplete_scan: boolean;
            /** @description Why the last scan since the restore was not complete */
            last_scan_trouble: string | null;
            /** @description See GET /operator/held-vms */
            held_vms: number;
            /** @description Servers without a VM: see GET /operator/drift */
            missing_servers: number;
            /** @description Servers whose VM differs: see GET /operator/drift */
            changed_servers: number;
            /** @description Their deletion may have been cancelled after the moment of the backup. Their buffer began anew at the restore */
            servers_in_removal_buffer: number;
            /** @description Whose destruction the backup had queued; it waits */
            servers_to_destroy: number;
            /** @description Networks on the region's edge that the records do not have */
            unknown_networks: string[];
        };
        RestoreReport: {
            restore: components["schemas"]["Restore"] | null;
            /** @description The regions that there were at the restore, by slug */
            regions: components["schemas"]["RegionRestore"][];
        };
        Restore: {
            /** @example rst_06ex2v3m8n4k6q1r5s7t9w0y2z */
            id: string;
            restored_at: components["schemas"]["Time"];
            /** @description The last change that the backup has; everything after it is unknown */
            moment: components["schemas"]["Time"] | null;
            /** @description Open jobs that were ended, since doing them again could do harm */
            jobs_ended: number;
            /** @description Open jobs that are done again when their region is scanned */
            jobs_kept: number;
            /** @description Everybody signs in again */
            sessions_ended: number;
            /** @description Links to set a password, and codes to enrol an agent */
            codes_ended: number;
            /** @description Tokens of organisations, operators and agents that are valid. One that was revoked after the moment is valid again */
            tokens_valid: number;
        };
        HeldNumber: {
            /** @enum {string} */
            kind: "vmid" | "vlan" | "address" | "public_address";
            value: string;
            /** @description Of a private address */
            subnet_id: string | null;
            /** @description Who has it by the records, where that is another */
            holder: string | null;
        };
        HeldVm: {
            /** @example hvm_06ex2v3m8n4k6q1r5s7t9w0y2z */
            id: string;
            region: string;
            vmid: number;
            node: string | null;
            name: string | null;
            /** @enum {string|null} */
            power: "on" | "off" | null;
            /** @description The server that the VM is marked for */
            server_id: string | null;
            /** @description The organisation that it is marked for */
            organisation_id: string | null;
            /** @description Null when there is no such organisation */
            organisation_name: string | null;
            /** @description It is a server's; only what is in `held` and `disputed` is unknown of it */
            is_known: boolean;
            vcpu: number | null;
            memory_mb: number | null;
            disk_gb: number | null;
            held: components["schemas"]["HeldNumber"][];
            disputed: components["schemas"]["HeldNumber"][];
            first_seen_at: components["schemas"]["Time"];
        };
        HeldVmList: {
            items: components["schemas"]["HeldVm"][];
            next_cursor: components["schemas"]["NextCursor"];
        };
        RegionCapacity: {
            region: string;
            reported_at: components["schemas"]["Time"] | null;
            fresh: boolean;
            nodes: {
                name: string;
                online: boolean;
                maintenance: boolean;
                cpus: number;
                memory_mb: number;
                /** @description Measured */
                memory_used_mb: number;
                /** @description Capacity left for servers */
                memory_free_mb: number;
                /** @description Capacity left for servers */
                vcpu_free: number;
                servers: number;
            }[];
            storages: {
                name: string;
                /** @description Null: shared by all nodes */
                node: string | null;
                total_gb: number;
                used_gb: number;
                /** @description Capacity left for servers */
                free_gb: number;
            }[];
            /** @description The agent's last scan that was completed */
            last_pass: {
                number: number;
                ended_at: components["schemas"]["Time"];
                complete: boolean;
                vms: number;
                trouble: string | null;
            } | null;
            /**
             * @description Machines of load balancers that the region's agent said in the last seven days to have carried more than any machine
             *     can, the latest first. None of it was counted
             */
            implausible_traffic: {
                organisation_id: string;
                load_balancer_id: string;
                /** @enum {integer} */
                slot: 1 | 2;
                message: string;
                /** @description The last time */
                at: components["schemas"]["Time"];
            }[];
        };
        InventoryVm: {
            vmid: number;
            node: string;
            /**
             * @default qemu
             * @enum {string}
             */
            type?: "qemu" | "lxc";
            /**
             * @description `unanswered`: listed, but its details could not be read; `busy`: locked or being created
             * @enum {string}
             */
            state: "seen" | "unanswered" | "busy";
            /** @description When the scan of this VM began, counted from the answer that gave the pass its number */
            seen_after_ms: number;
            /** @enum {string} */
            power?: "on" | "off";
            name?: string | null;
            template?: boolean;
            marker?: ({
                server_id: string;
                organisation_id: string;
                region: string;
            } & {
                [key: string]: unknown;
            }) | null;
            tags?: string[];
            lock?: string | null;
            vcpu?: number;
            memory_mb?: number;
            disk_bytes?: number | null;
            interfaces?: ({
                position: number;
                mac: string | null;
                vlan?: number | null;
                bridge?: string | null;
                firewall?: boolean;
                /** @description Its cable is out */
                link_down?: boolean;
                /** @description Of its cloud-init settings; left out by agents that do not report them */
                addresses?: string[];
                /** @description Its limit in MB/s, as the hypervisor has it; null: none */
                rate?: string | null;
                /** @description VLANs that it gets in addition to its own; null: none */
                trunks?: string | null;
            } & {
                [key: string]: unknown;
            })[];
            /** @description Null when it is in none; left out by agents that do not report pools */
            pool?: string | null;
            /** @description Left out when it was not read in this pass */
            firewall?: {
                enable: boolean;
                macfilter: boolean;
                ipfilter: boolean;
                /** @enum {string} */
                policy_in?: "ACCEPT" | "REJECT" | "DROP";
                /** @enum {string} */
                policy_out?: "ACCEPT" | "REJECT" | "DROP";
                /** @description How many are switched on */
                rules?: number;
                /** @description SHA-256 of these rules, a line for each, with the addresses of their ipsets; left out by agents that know no filters */
                rules_digest?: string;
                ipsets: ({
                    name: string;
                    addresses: string[];
                } & {
                    [key: string]: unknown;
                })[];
            } & {
                [key: string]: unknown;
            };
            guest?: {
                /** @description Its guest agent answered in this scan */
                agent: boolean;
                /**
                 * @description False when it was not asked in this scan, though it could answer. A guest that often did not answer is left
                 *     out of some scans: this is then no new information.
                 */
                agent_asked?: boolean;
                cloud_init?: components["schemas"]["CloudInitState"];
                os?: string | null;
                hostname?: string | null;
                addresses?: string[];
                uptime_seconds?: number | null;
            } & {
                [key: string]: unknown;
            };
        } & {
            [key: string]: unknown;
        };
        InventoryNode: {
            name: string;
            online: boolean;
            maintenance?: boolean;
            cpus?: number;
            memory_bytes?: number;
            memory_used_bytes?: number;
            /** @description Configured for running guests whose VM numbers are not Kule's */
            others_memory_bytes?: number;
            others_vcpu?: number;
        } & {
            [key: string]: unknown;
        };
        InventoryStorage: {
            name: string;
            /** @description Null: shared by all nodes */
            node: string | null;
            total_bytes: number;
            used_bytes: number;
        } & {
            [key: string]: unknown;
        };
        InventoryEnd: {
            /** @description Every node answered, and everything listed was reported */
            complete: boolean;
            trouble?: string | null;
            nodes?: components["schemas"]["InventoryNode"][];
            storages?: components["schemas"]["InventoryStorage"][];
            /** @description On which nodes a server of each image can be created */
            images?: ({
                image: string;
                nodes: string[];
            } & {
                [key: string]: unknown;
            })[];
        } & {
            [key: string]: unknown;
        };
        InventoryReport: {
            agent_version: string;
            agent_name?: string;
            /** @description Created by the agent when it starts */
            agent_run: string;
            /** @default 30 */
            every_seconds?: number;
            /** @description As it was given; left out to ask for one */
            pass?: number;
            /** @default 0 */
            batch?: number;
            /** @description Where private networks are, by the region file */
            private_bridge?: string;
            /** @description Prefix of the pools of its VMs, by the region file */
            pool_prefix?: string;
            /** @description Where public addresses are, by the region file; left out when it names none */
            public_network?: {
                bridge: string;
                /** @description Of pools that name none; null is untagged */
                vlan?: number | null;
            } & {
                [key: string]: unknown;
            };
            vms?: components["schemas"]["InventoryVm"][];
            /** @description Of the numbers in `look_for`, those of guests that the agent's token may not see */
            hidden?: ({
                vmid: number;
                seen_after_ms: number;
            } & {
                [key: string]: unknown;
            })[];
            /** @description Of the numbers in `look_for`, those that no guest has, each queried by itself */
            absent?: ({
                vmid: number;
                seen_after_ms: number;
            } & {
                [key: string]: unknown;
            })[];
            end?: components["schemas"]["InventoryEnd"];
        } & {
            [key: string]: unknown;
        };
        InventoryAck: {
            /** @description The pass to report in; null: do not scan now */
            pass: number | null;
            /** @description False: the pass is not the current one any more; end it */
            recorded: boolean;
            /** @description VM numbers that should have been seen */
            look_for: number[];
            /** @description Request the next pass after so many seconds */
            next_in_seconds: number;
        };
        ServerImport: {
            name: components["schemas"]["ServerName"];
            region: string;
            vmid: number;
            /** @description What runs in it, by the catalogue */
            image: string;
            package: string;
            subnet_id: string;
            private_ip?: components["schemas"]["Address4"];
            labels?: components["schemas"]["Labels"];
        };
    };
    responses: {
        /** @description The body is not JSON */
        MalformedJson: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description No token, or one that is unknown, expired or revoked */
        Unauthorized: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The role or the scopes do not allow it; `required` names what is missing */
        Forbidden: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description It does not exist, or not for this caller */
        NotFound: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The request is right but the current state does not allow it; `precondition` names what */
        Conflict: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The file has no more bytes than the range skips; `Content-Range` has its size */
        RangeNotSatisfiable: {
            headers: {
                "Content-Range": components["headers"]["ContentRange"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description If-Match has another generation than the current one */
        PreconditionFailed: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The request is wrong; `errors` lists every offending field */
        Invalid: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description Too many requests; wait `Retry-After` seconds */
        RateLimited: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description Something upstream is temporarily unavailable; retry with backoff */
        Unavailable: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description What would happen (only with dry_run=true) */
        DryRun: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["DryRun"];
            };
        };
    };
    parameters: {
        /** @description Items on a page */
        Limit: number;
        /** @description The last answer's next_cursor */
        Cursor: string;
        /** @description Only this exact name */
        NameFilter: string;
        /** @description Only this region */
        RegionFilter: string;
        /** @description Where the name or a label (`key=value`) holds this, in small letters or capitals; of servers also a private address, of networks the address range */
        Search: string;
        /** @description Where the address, the PTR name or a label (`key=value`) holds this, in small letters or capitals */
        SearchAddress: string;
        /** @description Sort field; prefix with - for descending */
        Sort: "created_at" | "-created_at" | "name" | "-name";
        /** @description Sort field; prefix with - for descending. In order of the region, those of a region are by name */
        SortByRegion: "created_at" | "-created_at" | "name" | "-name" | "region" | "-region";
        /** @description Sort field; prefix with - for descending */
        SortByAddress: "created_at" | "-created_at" | "address" | "-address";
        /**
         * @description Comma-separated terms: `k=v`, `k!=v`, `k in (a,b)`, `k notin (a,b)`, `k`, `!k`
         * @example role=web,tier!=test
         */
        LabelSelector: string;
        /** @description Only these statuses (repeat the parameter) */
        ServerStatusFilter: components["schemas"]["ServerStatus"][];
        /** @description Only these statuses (repeat the parameter) */
        JobStatusFilter: components["schemas"]["JobStatus"][];
        /** @description Only these kinds (repeat the parameter) */
        JobKindFilter: components["schemas"]["JobKind"][];
        /** @description Answer what would happen and what prevents it, and change nothing */
        DryRun: boolean;
        /**
         * @description Makes a retry of exactly this request safe for 24 hours
         * @example 5f0f4c9e-create-web-1
         */
        IdempotencyKey: string;
        /**
         * @description Go ahead only if the resource still has this ETag
         * @example "g7"
         */
        IfMatch: string;
        /** @description For operators only, the organisation to act in; the audit trail records it */
        OnBehalfOf: string;
        /** @description Only the domain of this name */
        DomainNameFilter: string;
        /** @description Where the name or a value holds this, in small letters or capitals */
        RecordSearch: string;
        /** @description `*`: go ahead only if there is none yet */
        IfNoneMatch: "*";
        CertificateId: string;
        /** @description The domain's id, or its name */
        DomainId: string;
        /** @description Relative to the domain; `@` is the domain itself */
        RecordName: string;
        RecordTypePath: string;
        OrganisationId: string;
        MemberId: string;
        InvitationId: string;
        IdentityId: string;
        PasskeyId: string;
        LoginSessionId: string;
        TokenId: string;
        RegionSlug: string;
        AgentRolloutId: string;
        ReleaseVersion: string;
        ReleaseArchitecture: string;
        SshKeyId: string;
        NetworkId: string;
        SubnetId: string;
        GatewayId: string;
        ReservationId: string;
        PortForwardId: string;
        FirewallId: string;
        FirewallRuleId: string;
        FirewallAttachmentId: string;
        IpPoolId: string;
        RangeId: string;
        AddressPath: string;
        PublicIpId: string;
        LoadBalancerId: string;
        ListenerId: string;
        TargetId: string;
        ServerId: string;
        ConsoleSessionId: string;
        JobId: string;
    };
    requestBodies: never;
    headers: {
        /**
         * @description The resource's generation, for If-Match
         * @example "g7"
         */
        ETag: string;
        /** @description Path of the new resource */
        Location: string;
        /** @description The file's SHA-256 in hexadecimal, quoted */
        FileETag: string;
        /** @description `bytes` */
        AcceptRanges: string;
        /** @description What is answered, of how many bytes: `bytes 1000-1999/2000` */
        ContentRange: string;
        /** @description Seconds to wait before the next poll while the job is open */
        RetryAfter: number;
    };
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    getApiIndex: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Links to the reference and the machine-readable contract */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApiIndex"];
                };
            };
        };
    };
    getOpenapi: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The OpenAPI 3.1 document */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: unknown;
                    };
                };
            };
        };
    };
    getReference: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
        };
    };
    getReferenceScript: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The script */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/javascript": string;
                };
            };
            503: components["responses"]["Unavailable"];
        };
    };
    getReferenceStyle: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The style */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/css": string;
                };
            };
            503: components["responses"]["Unavailable"];
        };
    };
    getHealth: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Alive */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
        };
    };
    getReadiness: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Ready */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Readiness"];
                };
            };
            503: components["responses"]["Unavailable"];
        };
    };
    login: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "email": "ada@example.org",
                 *       "password": "correct horse battery staple"
                 *     }
                 */
                "application/json": components["schemas"]["LoginRequest"];
            };
        };
        responses: {
            /** @description The session. The token is shown only here. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            /** @description The password was right, and the person has a second factor. Continue with `POST /auth/second-factor`. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SecondFactorNeeded"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    completeLogin: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "sign_in": "sgn_06ex2v3m8n4k6q1r5s7t9w0y2z_…",
                 *       "code": "492039"
                 *     }
                 */
                "application/json": components["schemas"]["SecondFactor"];
            };
        };
        responses: {
            /** @description The session. The token is shown only here. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    beginPasskeyLogin: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /** @example {} */
                "application/json": components["schemas"]["PasskeyLoginBegin"];
            };
        };
        responses: {
            /** @description For the browser */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PasskeyCeremony"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    loginWithPasskey: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "ceremony": "cer_06ex2v3m8n4k6q1r5s7t9w0y2z_…",
                 *       "response": {}
                 *     }
                 */
                "application/json": components["schemas"]["PasskeyLogin"];
            };
        };
        responses: {
            /** @description The session. The token is shown only here. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    listOidcProviders: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All of them */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OidcProviderList"];
                };
            };
            429: components["responses"]["RateLimited"];
        };
    };
    beginOidcLogin: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "provider": "example-id"
                 *     }
                 */
                "application/json": components["schemas"]["OidcLoginBegin"];
            };
        };
        responses: {
            /** @description For the browser */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OidcAuthorization"];
                };
            };
            400: components["responses"]["MalformedJson"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    loginWithOidc: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "flow": "v1.…",
                 *       "response": "code=…&state=…"
                 *     }
                 */
                "application/json": components["schemas"]["OidcLogin"];
            };
        };
        responses: {
            /** @description The session. The token is shown only here. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            /**
             * @description The person has a second factor, and the provider is not trusted to have required one. Continue with
             *     `POST /auth/second-factor`.
             */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SecondFactorNeeded"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    requestPasswordReset: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "email": "ada@example.org",
                 *       "language": "en"
                 *     }
                 */
                "application/json": components["schemas"]["PasswordResetRequest"];
            };
        };
        responses: {
            /** @description Taken */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["MalformedJson"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    confirmPasswordReset: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "secret": "kule_pwr_...",
                 *       "new_password": "seven brave otters swam home"
                 *     }
                 */
                "application/json": components["schemas"]["PasswordResetConfirm"];
            };
        };
        responses: {
            /** @description Set */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["MalformedJson"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    logout: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Closed. The token is refused from now on. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Unauthorized"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    getMe: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The caller */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Me"];
                };
            };
            401: components["responses"]["Unauthorized"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    readInvitation: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "secret": "kule_inv_..."
                 *     }
                 */
                "application/json": components["schemas"]["InvitationSecret"];
            };
        };
        responses: {
            /** @description The invitation */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InvitationOffer"];
                };
            };
            400: components["responses"]["MalformedJson"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    acceptInvitation: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "secret": "kule_inv_...",
                 *       "name": "Grace Hopper",
                 *       "password": "correct horse battery staple"
                 *     }
                 */
                "application/json": components["schemas"]["InvitationAcceptance"];
            };
        };
        responses: {
            /** @description Joined */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OrganisationJoined"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    switchOrganisation: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "organisation_id": "org_06ex2v3m8n4k6q1r5s7t9w0y2z"
                 *     }
                 */
                "application/json": components["schemas"]["OrganisationSwitch"];
            };
        };
        responses: {
            /** @description The session. The token is shown only here. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    listMyOrganisations: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All of them */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MyOrganisationList"];
                };
            };
            401: components["responses"]["Unauthorized"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    joinOrganisation: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "secret": "kule_inv_..."
                 *     }
                 */
                "application/json": components["schemas"]["InvitationSecret"];
            };
        };
        responses: {
            /** @description Joined */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OrganisationJoined"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    leaveOrganisation: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                organisation_id: components["parameters"]["OrganisationId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Left */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    listSessions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All of them, on one page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LoginSessionList"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    revokeSession: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                login_session_id: components["parameters"]["LoginSessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Ended */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    revokeOtherSessions: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description How many there were */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionsRevoked"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    changePassword: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "current_password": "correct horse battery staple",
                 *       "new_password": "seven brave otters swam home"
                 *     }
                 */
                "application/json": components["schemas"]["PasswordChange"];
            };
        };
        responses: {
            /** @description Changed */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    getSecurity: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Sign-in methods other than the password */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AccountSecurity"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    proveIdentity: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "password": "correct horse battery staple"
                 *     }
                 */
                "application/json": components["schemas"]["Proof"];
            };
        };
        responses: {
            /** @description Confirmed, for ten minutes */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    beginTotp: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description For the app */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TotpEnrolment"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    removeTotp: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Removed */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    confirmTotp: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "code": "492039"
                 *     }
                 */
                "application/json": components["schemas"]["TotpConfirm"];
            };
        };
        responses: {
            /** @description Signing in needs a code from now on */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecoveryCodes"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    replaceRecoveryCodes: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Shown only here */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecoveryCodes"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    beginPasskey: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "purpose": "register"
                 *     }
                 */
                "application/json": components["schemas"]["PasskeyPurpose"];
            };
        };
        responses: {
            /** @description For the browser */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PasskeyCeremony"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    addPasskey: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "ceremony": "cer_06ex2v3m8n4k6q1r5s7t9w0y2z_…",
                 *       "name": "phone",
                 *       "response": {}
                 *     }
                 */
                "application/json": components["schemas"]["PasskeyAdd"];
            };
        };
        responses: {
            /** @description Registered */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PasskeyAdded"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    removePasskey: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                passkey_id: components["parameters"]["PasskeyId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Removed */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    renamePasskey: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                passkey_id: components["parameters"]["PasskeyId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "laptop"
                 *     }
                 */
                "application/json": components["schemas"]["PasskeyRename"];
            };
        };
        responses: {
            /** @description Renamed */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Passkey"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    beginIdentity: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "provider": "example-id",
                 *       "purpose": "link"
                 *     }
                 */
                "application/json": components["schemas"]["IdentityBegin"];
            };
        };
        responses: {
            /** @description For the browser */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OidcAuthorization"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    linkIdentity: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "flow": "v1.…",
                 *       "response": "code=…&state=…"
                 *     }
                 */
                "application/json": components["schemas"]["OidcAnswer"];
            };
        };
        responses: {
            /** @description Linked */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Identity"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    unlinkIdentity: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                identity_id: components["parameters"]["IdentityId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Unlinked */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    getOrganisation: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The organisation */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Organisation"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    listOrganisations: {
        parameters: {
            query?: {
                /** @description Items on a page */
                limit?: components["parameters"]["Limit"];
                /** @description The last answer's next_cursor */
                cursor?: components["parameters"]["Cursor"];
                /** @description Only this exact name */
                name?: components["parameters"]["NameFilter"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OrganisationList"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    createOrganisation: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "slug": "acme",
                 *       "name": "Acme Hosting"
                 *     }
                 */
                "application/json": components["schemas"]["OrganisationCreate"];
            };
        };
        responses: {
            /** @description Registered */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Organisation"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    getOrganisationById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                organisation_id: components["parameters"]["OrganisationId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The organisation */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Organisation"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    updateOrganisation: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description Go ahead only if the resource still has this ETag
                 * @example "g7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                organisation_id: components["parameters"]["OrganisationId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "status": "suspended"
                 *     }
                 */
                "application/json": components["schemas"]["OrganisationUpdate"];
            };
        };
        responses: {
            /** @description As it is now */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Organisation"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    setQuotas: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                organisation_id: components["parameters"]["OrganisationId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "limits": {
                 *         "servers": 20,
                 *         "vcpu": 32,
                 *         "memory_mb": 131072,
                 *         "disk_gb": 2000
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["QuotasSet"];
            };
        };
        responses: {
            /** @description All quotas as they are now */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QuotaList"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    correctUsage: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                organisation_id: components["parameters"]["OrganisationId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "segment": "seg_06ex2v3m8n4k6q1r5s7t9w0y2z_disk",
                 *       "quantity": {
                 *         "disk_gb": 80
                 *       },
                 *       "reason": "The region reported a disk that was never there"
                 *     }
                 */
                "application/json": components["schemas"]["UsageCorrection"];
            };
        };
        responses: {
            /** @description The event */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UsageEvent"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    listMembers: {
        parameters: {
            query?: {
                /** @description Items on a page */
                limit?: components["parameters"]["Limit"];
                /** @description The last answer's next_cursor */
                cursor?: components["parameters"]["Cursor"];
            };
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MemberList"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    getMember: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                member_id: components["parameters"]["MemberId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The member */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Member"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    removeMember: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                member_id: components["parameters"]["MemberId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Removed */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    updateMember: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                member_id: components["parameters"]["MemberId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "role": "admin"
                 *     }
                 */
                "application/json": components["schemas"]["MemberUpdate"];
            };
        };
        responses: {
            /** @description As it is now */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Member"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    createPasswordReset: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                member_id: components["parameters"]["MemberId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Made */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PasswordReset"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    resetSecondFactor: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                member_id: components["parameters"]["MemberId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The person signs in without it */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    listInvitations: {
        parameters: {
            query?: {
                /** @description Items on a page */
                limit?: components["parameters"]["Limit"];
                /** @description The last answer's next_cursor */
                cursor?: components["parameters"]["Cursor"];
                /** @description Only these (repeat the parameter) */
                status?: components["schemas"]["InvitationStatus"][];
            };
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page. Secrets are never shown again. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InvitationList"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    createInvitation: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "email": "grace@example.org",
                 *       "role": "member",
                 *       "expires_in_days": 7
                 *     }
                 */
                "application/json": components["schemas"]["InvitationCreate"];
            };
        };
        responses: {
            /** @description Invited */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InvitationWithSecret"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    getInvitation: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                invitation_id: components["parameters"]["InvitationId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The invitation, without its secret */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Invitation"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    revokeInvitation: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                invitation_id: components["parameters"]["InvitationId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Withdrawn */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    listTokens: {
        parameters: {
            query?: {
                /** @description Items on a page */
                limit?: components["parameters"]["Limit"];
                /** @description The last answer's next_cursor */
                cursor?: components["parameters"]["Cursor"];
            };
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page. Secrets are never shown again. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenList"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    createToken: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "ci",
                 *       "role": "member",
                 *       "scopes": [
                 *         "server:*",
                 *         "job:read"
                 *       ],
                 *       "expires_in_days": 90
                 *     }
                 */
                "application/json": components["schemas"]["TokenCreate"];
            };
        };
        responses: {
            /** @description Minted */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenWithSecret"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    getToken: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                token_id: components["parameters"]["TokenId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The token, without its secret */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Token"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    revokeToken: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                token_id: components["parameters"]["TokenId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Revoked */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    rotateToken: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                token_id: components["parameters"]["TokenId"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "overlap_seconds": 3600
                 *     }
                 */
                "application/json": components["schemas"]["TokenRotate"];
            };
        };
        responses: {
            /** @description The successor */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenWithSecret"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    listAudit: {
        parameters: {
            query?: {
                /** @description Items on a page */
                limit?: components["parameters"]["Limit"];
                /** @description The last answer's next_cursor */
                cursor?: components["parameters"]["Cursor"];
                /**
                 * @description Only this action
                 * @example server.create
                 */
                action?: string;
                /** @description Only this resource's entries */
                resource?: string;
                /** @description Only actions of this user or token (the actor's id) */
                actor?: string;
                /** @description Only this outcome */
                outcome?: "succeeded" | "refused" | "failed";
                /** @description Entries at or after this time */
                from?: string;
                /** @description Entries before this time */
                to?: string;
            };
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page, newest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditList"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    verifyAudit: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was found last */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditVerification"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    getCatalog: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The catalogue */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Catalog"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    checkCatalog: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "region": "ist1",
                 *       "image": "ubuntu-24.04",
                 *       "package": "m",
                 *       "count": 3
                 *     }
                 */
                "application/json": components["schemas"]["CatalogCheck"];
            };
        };
        responses: {
            /** @description Whether it could */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CatalogAnswer"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    listRegions: {
        parameters: {
            query?: {
                /** @description Items on a page */
                limit?: components["parameters"]["Limit"];
                /** @description The last answer's next_cursor */
                cursor?: components["parameters"]["Cursor"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RegionList"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    createRegion: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "slug": "ist1",
                 *       "name": "Istanbul 1",
                 *       "country": "TR",
                 *       "vmid_range": {
                 *         "first": 20000,
                 *         "last": 29999
                 *       },
                 *       "vlan_range": {
                 *         "first": 100,
                 *         "last": 999
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["RegionCreate"];
            };
        };
        responses: {
            /** @description Registered */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Region"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    getRegion: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                region: components["parameters"]["RegionSlug"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The region */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Region"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    updateRegion: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description Go ahead only if the resource still has this ETag
                 * @example "g7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                region: components["parameters"]["RegionSlug"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "restricted_to": [
                 *         "org_06ex2v3m8n4k6q1r5s7t9w0y2z"
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["RegionUpdate"];
            };
        };
        responses: {
            /** @description As it is now */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Region"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    updateRegionRestore: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                region: components["parameters"]["RegionSlug"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "ended": true
                 *     }
                 */
                "application/json": components["schemas"]["RegionRestoreUpdate"];
            };
        };
        responses: {
            /** @description The region's restore as it is now */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RegionRestore"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    getRegionCapacity: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                region: components["parameters"]["RegionSlug"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The region's capacity */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RegionCapacity"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    listAgentTokens: {
        parameters: {
            query?: {
                /** @description Items on a page */
                limit?: components["parameters"]["Limit"];
                /** @description The last answer's next_cursor */
                cursor?: components["parameters"]["Cursor"];
            };
            header?: never;
            path: {
                region: components["parameters"]["RegionSlug"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenList"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    createAgentToken: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                region: components["parameters"]["RegionSlug"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "ist1 agent"
                 *     }
                 */
                "application/json": components["schemas"]["AgentTokenCreate"];
            };
        };
        responses: {
            /** @description Minted */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenWithSecret"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    revokeAgentToken: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                region: components["parameters"]["RegionSlug"];
                token_id: components["parameters"]["TokenId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Revoked */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    rotateAgentToken: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                region: components["parameters"]["RegionSlug"];
                token_id: components["parameters"]["TokenId"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "overlap_seconds": 600
                 *     }
                 */
                "application/json": components["schemas"]["AgentTokenRotate"];
            };
        };
        responses: {
            /** @description The successor */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenWithSecret"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    createEnrolment: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                region: components["parameters"]["RegionSlug"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EnrolmentWithCode"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    approveAgentKey: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                region: components["parameters"]["RegionSlug"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "fingerprint": "SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU"
                 *     }
                 */
                "application/json": components["schemas"]["AgentKeyApproval"];
            };
        };
        responses: {
            /** @description The region */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Region"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    refuseAgentKey: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                region: components["parameters"]["RegionSlug"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The region */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Region"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    getAgentReleases: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The releases */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentReleases"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    getAgentUpdates: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The settings */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentUpdateSettings"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    updateAgentUpdates: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description Go ahead only if the resource still has this ETag
                 * @example "g7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "window": {
                 *         "days": [
                 *           "mon",
                 *           "tue",
                 *           "wed",
                 *           "thu"
                 *         ],
                 *         "from_time": "22:00",
                 *         "to_time": "04:00"
                 *       },
                 *       "wait_minutes": 120
                 *     }
                 */
                "application/json": components["schemas"]["AgentUpdateSettingsUpdate"];
            };
        };
        responses: {
            /** @description As they are now */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentUpdateSettings"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    listAgentRollouts: {
        parameters: {
            query?: {
                /** @description Items on a page */
                limit?: components["parameters"]["Limit"];
                /** @description The last answer's next_cursor */
                cursor?: components["parameters"]["Cursor"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page, the latest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentRolloutList"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    createAgentRollout: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "version": "1.4.0",
                 *       "first_region": "ist1"
                 *     }
                 */
                "application/json": components["schemas"]["AgentRolloutCreate"];
            };
        };
        responses: {
            /** @description Started */
            201: {
                headers: {
                    Location: components["headers"]["Location"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentRollout"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    getAgentRollout: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                agent_rollout_id: components["parameters"]["AgentRolloutId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The rollout */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentRollout"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    pauseAgentRollout: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                agent_rollout_id: components["parameters"]["AgentRolloutId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description As it is now */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentRollout"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    resumeAgentRollout: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                agent_rollout_id: components["parameters"]["AgentRolloutId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description As it is now */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentRollout"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    cancelAgentRollout: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                agent_rollout_id: components["parameters"]["AgentRolloutId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description As it is now */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentRollout"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    listSshKeys: {
        parameters: {
            query?: {
                /** @description Items on a page */
                limit?: components["parameters"]["Limit"];
                /** @description The last answer's next_cursor */
                cursor?: components["parameters"]["Cursor"];
                /** @description Only this exact name */
                name?: components["parameters"]["NameFilter"];
                /** @description Where the name or a label (`key=value`) holds this, in small letters or capitals; of servers also a private address, of networks the address range */
                q?: components["parameters"]["Search"];
                /**
                 * @description Comma-separated terms: `k=v`, `k!=v`, `k in (a,b)`, `k notin (a,b)`, `k`, `!k`
                 * @example role=web,tier!=test
                 */
                label_selector?: components["parameters"]["LabelSelector"];
                /** @description Sort field; prefix with - for descending */
                sort?: components["parameters"]["Sort"];
            };
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SshKeyList"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    createSshKey: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "laptop",
                 *       "public_key": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIL0ZsLgMwGCJyWY8Yb8vvgMI5gbkOOxuyPUUfcgWAGNd ada@laptop"
                 *     }
                 */
                "application/json": components["schemas"]["SshKeyCreate"];
            };
        };
        responses: {
            /** @description Added */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SshKey"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    getSshKey: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                ssh_key_id: components["parameters"]["SshKeyId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The key */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SshKey"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    deleteSshKey: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description Go ahead only if the resource still has this ETag
                 * @example "g7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                ssh_key_id: components["parameters"]["SshKeyId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    updateSshKey: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description Go ahead only if the resource still has this ETag
                 * @example "g7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                ssh_key_id: components["parameters"]["SshKeyId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "old laptop",
                 *       "labels": {
                 *         "owner": "ada"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["SshKeyUpdate"];
            };
        };
        responses: {
            /** @description As it is now */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SshKey"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    listNetworks: {
        parameters: {
            query?: {
                /** @description Items on a page */
                limit?: components["parameters"]["Limit"];
                /** @description The last answer's next_cursor */
                cursor?: components["parameters"]["Cursor"];
                /** @description Only this exact name */
                name?: components["parameters"]["NameFilter"];
                /** @description Where the name or a label (`key=value`) holds this, in small letters or capitals; of servers also a private address, of networks the address range */
                q?: components["parameters"]["Search"];
                /** @description Only this region */
                region?: components["parameters"]["RegionFilter"];
                /**
                 * @description Comma-separated terms: `k=v`, `k!=v`, `k in (a,b)`, `k notin (a,b)`, `k`, `!k`
                 * @example role=web,tier!=test
                 */
                label_selector?: components["parameters"]["LabelSelector"];
                /** @description Sort field; prefix with - for descending. In order of the region, those of a region are by name */
                sort?: components["parameters"]["SortByRegion"];
            };
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NetworkList"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    createNetwork: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "shop",
                 *       "region": "ist1",
                 *       "cidr": "10.20.0.0/16"
                 *     }
                 */
                "application/json": components["schemas"]["NetworkCreate"];
            };
        };
        responses: {
            /** @description Created; the region needs no change */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NetworkAndJob"] & components["schemas"]["NothingQueued"];
                };
            };
            /** @description Accepted; the job updates the region's edge */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NetworkAndJob"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    getNetwork: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                network_id: components["parameters"]["NetworkId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The network */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Network"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    deleteNetwork: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description Go ahead only if the resource still has this ETag
                 * @example "g7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                network_id: components["parameters"]["NetworkId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is deleted once the job has succeeded; until then its status is `deleting` */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NetworkAndJob"];
                };
            };
            /** @description Deleted; the region has no edge */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    updateNetwork: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description Go ahead only if the resource still has this ETag
                 * @example "g7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                network_id: components["parameters"]["NetworkId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "description": "the shop and its workers"
                 *     }
                 */
                "application/json": components["schemas"]["NetworkUpdate"];
            };
        };
        responses: {
            /** @description As it is now */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NetworkAndJob"] & components["schemas"]["NothingQueued"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    explainNetwork: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                network_id: components["parameters"]["NetworkId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "from": {
                 *         "server_id": "srv_06ex2v3m8n4k6q1r5s7t9w0y2z"
                 *       },
                 *       "to": {
                 *         "address": "198.51.100.7"
                 *       },
                 *       "protocol": "tcp",
                 *       "port": 443
                 *     }
                 */
                "application/json": components["schemas"]["ReachQuestion"];
            };
        };
        responses: {
            /** @description The verdict */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReachVerdict"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    listSubnets: {
        parameters: {
            query?: {
                /** @description Items on a page */
                limit?: components["parameters"]["Limit"];
                /** @description The last answer's next_cursor */
                cursor?: components["parameters"]["Cursor"];
                /** @description Only this exact name */
                name?: components["parameters"]["NameFilter"];
            };
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                network_id: components["parameters"]["NetworkId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SubnetList"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    createSubnet: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                network_id: components["parameters"]["NetworkId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "app",
                 *       "tier": "app",
                 *       "cidr": "10.20.1.0/24"
                 *     }
                 */
                "application/json": components["schemas"]["SubnetCreate"];
            };
        };
        responses: {
            /** @description Created; the region needs no change */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SubnetAndJob"] & components["schemas"]["NothingQueued"];
                };
            };
            /** @description Accepted; the job updates the region's edge */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SubnetAndJob"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    getSubnet: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                network_id: components["parameters"]["NetworkId"];
                subnet_id: components["parameters"]["SubnetId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The subnet */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Subnet"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    deleteSubnet: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description Go ahead only if the resource still has this ETag
                 * @example "g7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                network_id: components["parameters"]["NetworkId"];
                subnet_id: components["parameters"]["SubnetId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is deleted once the job has succeeded; until then its status is `deleting` */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SubnetAndJob"];
                };
            };
            /** @description Deleted; the region has no edge */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    updateSubnet: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description Go ahead only if the resource still has this ETag
                 * @example "g7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                network_id: components["parameters"]["NetworkId"];
                subnet_id: components["parameters"]["SubnetId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "dns_servers": [
                 *         "9.9.9.9"
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["SubnetUpdate"];
            };
        };
        responses: {
            /** @description As it is now */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SubnetAndJob"] & components["schemas"]["NothingQueued"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    listSubnetAddresses: {
        parameters: {
            query?: {
                /** @description Items on a page */
                limit?: components["parameters"]["Limit"];
                /** @description The last answer's next_cursor */
                cursor?: components["parameters"]["Cursor"];
                state?: components["schemas"]["AddressState"];
            };
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                network_id: components["parameters"]["NetworkId"];
                subnet_id: components["parameters"]["SubnetId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SubnetAddressList"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    listReservations: {
        parameters: {
            query?: {
                /** @description Items on a page */
                limit?: components["parameters"]["Limit"];
                /** @description The last answer's next_cursor */
                cursor?: components["parameters"]["Cursor"];
                /** @description Only this exact name */
                name?: components["parameters"]["NameFilter"];
                /**
                 * @description Comma-separated terms: `k=v`, `k!=v`, `k in (a,b)`, `k notin (a,b)`, `k`, `!k`
                 * @example role=web,tier!=test
                 */
                label_selector?: components["parameters"]["LabelSelector"];
            };
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                network_id: components["parameters"]["NetworkId"];
                subnet_id: components["parameters"]["SubnetId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReservationList"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    createReservation: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                network_id: components["parameters"]["NetworkId"];
                subnet_id: components["parameters"]["SubnetId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "primary-db",
                 *       "address": "10.20.1.40"
                 *     }
                 */
                "application/json": components["schemas"]["ReservationCreate"];
            };
        };
        responses: {
            /** @description Reserved; `Location` is its path */
            201: {
                headers: {
                    Location: components["headers"]["Location"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Reservation"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    getReservation: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                network_id: components["parameters"]["NetworkId"];
                subnet_id: components["parameters"]["SubnetId"];
                reservation_id: components["parameters"]["ReservationId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The reservation */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Reservation"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    deleteReservation: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description Go ahead only if the resource still has this ETag
                 * @example "g7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                network_id: components["parameters"]["NetworkId"];
                subnet_id: components["parameters"]["SubnetId"];
                reservation_id: components["parameters"]["ReservationId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    updateReservation: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description Go ahead only if the resource still has this ETag
                 * @example "g7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                network_id: components["parameters"]["NetworkId"];
                subnet_id: components["parameters"]["SubnetId"];
                reservation_id: components["parameters"]["ReservationId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "description": "the shop's database"
                 *     }
                 */
                "application/json": components["schemas"]["ReservationUpdate"];
            };
        };
        responses: {
            /** @description As it is now */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Reservation"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    listFirewalls: {
        parameters: {
            query?: {
                /** @description Items on a page */
                limit?: components["parameters"]["Limit"];
                /** @description The last answer's next_cursor */
                cursor?: components["parameters"]["Cursor"];
                /** @description Only this exact name */
                name?: components["parameters"]["NameFilter"];
                /** @description Where the name or a label (`key=value`) holds this, in small letters or capitals; of servers also a private address, of networks the address range */
                q?: components["parameters"]["Search"];
                /** @description Only this region */
                region?: components["parameters"]["RegionFilter"];
                /**
                 * @description Comma-separated terms: `k=v`, `k!=v`, `k in (a,b)`, `k notin (a,b)`, `k`, `!k`
                 * @example role=web,tier!=test
                 */
                label_selector?: components["parameters"]["LabelSelector"];
                /** @description Sort field; prefix with - for descending. In order of the region, those of a region are by name */
                sort?: components["parameters"]["SortByRegion"];
            };
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FirewallList"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    createFirewall: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "web",
                 *       "region": "ist1",
                 *       "rules": [
                 *         {
                 *           "protocol": "tcp",
                 *           "ports": [
                 *             "80",
                 *             "443"
                 *           ],
                 *           "peers": [
                 *             {
                 *               "any": true
                 *             }
                 *           ]
                 *         }
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["FirewallCreate"];
            };
        };
        responses: {
            /** @description Created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FirewallAndJob"] & components["schemas"]["NothingQueued"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    getFirewall: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                firewall_id: components["parameters"]["FirewallId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The firewall */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Firewall"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    deleteFirewall: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description Go ahead only if the resource still has this ETag
                 * @example "g7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                firewall_id: components["parameters"]["FirewallId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    updateFirewall: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description Go ahead only if the resource still has this ETag
                 * @example "g7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                firewall_id: components["parameters"]["FirewallId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "description": "public web traffic of the shop"
                 *     }
                 */
                "application/json": components["schemas"]["FirewallUpdate"];
            };
        };
        responses: {
            /** @description As it is now */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FirewallAndJob"] & components["schemas"]["NothingQueued"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    setFirewallRules: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description Go ahead only if the resource still has this ETag
                 * @example "g7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                firewall_id: components["parameters"]["FirewallId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "rules": [
                 *         {
                 *           "protocol": "tcp",
                 *           "ports": [
                 *             "22"
                 *           ],
                 *           "peers": [
                 *             {
                 *               "cidr": "192.0.2.0/24"
                 *             }
                 *           ]
                 *         }
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["FirewallRulesSet"];
            };
        };
        responses: {
            /** @description As it is now; no server needs new rules */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FirewallAndJob"] & components["schemas"]["NothingQueued"];
                };
            };
            /** @description Servers get their new rules */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FirewallAndJob"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    addFirewallRule: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description Go ahead only if the resource still has this ETag
                 * @example "g7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                firewall_id: components["parameters"]["FirewallId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "protocol": "tcp",
                 *       "ports": [
                 *         "22"
                 *       ],
                 *       "peers": [
                 *         {
                 *           "cidr": "192.0.2.0/24"
                 *         }
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["FirewallRuleInput"];
            };
        };
        responses: {
            /** @description As it is now; no server needs new rules */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FirewallAndJob"] & components["schemas"]["NothingQueued"];
                };
            };
            /** @description Servers get their new rules */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FirewallAndJob"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    removeFirewallRule: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description Go ahead only if the resource still has this ETag
                 * @example "g7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                firewall_id: components["parameters"]["FirewallId"];
                firewall_rule_id: components["parameters"]["FirewallRuleId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description As it is now; no server needs new rules */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FirewallAndJob"] & components["schemas"]["NothingQueued"];
                };
            };
            /** @description Servers get their new rules */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FirewallAndJob"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    updateFirewallRule: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description Go ahead only if the resource still has this ETag
                 * @example "g7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                firewall_id: components["parameters"]["FirewallId"];
                firewall_rule_id: components["parameters"]["FirewallRuleId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "ports": [
                 *         "22",
                 *         "2222"
                 *       ],
                 *       "description": "Also the other port"
                 *     }
                 */
                "application/json": components["schemas"]["FirewallRuleUpdate"];
            };
        };
        responses: {
            /** @description As it is now; no server needs new rules */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FirewallAndJob"] & components["schemas"]["NothingQueued"];
                };
            };
            /** @description Servers get their new rules */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FirewallAndJob"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    attachFirewall: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description Go ahead only if the resource still has this ETag
                 * @example "g7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                firewall_id: components["parameters"]["FirewallId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "label_selector": "role=web"
                 *     }
                 */
                "application/json": components["schemas"]["FirewallAttach"];
            };
        };
        responses: {
            /** @description As it is now; no server needs new rules */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FirewallAndJob"] & components["schemas"]["NothingQueued"];
                };
            };
            /** @description Servers get their new rules */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FirewallAndJob"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    detachFirewall: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description Go ahead only if the resource still has this ETag
                 * @example "g7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                firewall_id: components["parameters"]["FirewallId"];
                firewall_attachment_id: components["parameters"]["FirewallAttachmentId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description As it is now; no server needs new rules */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FirewallAndJob"] & components["schemas"]["NothingQueued"];
                };
            };
            /** @description Servers get their new rules */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FirewallAndJob"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    applyFirewall: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description Go ahead only if the resource still has this ETag
                 * @example "g7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                firewall_id: components["parameters"]["FirewallId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description No server of it can get rules now */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FirewallAndJob"] & components["schemas"]["NothingQueued"];
                };
            };
            /** @description Servers get their new rules */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FirewallAndJob"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    testFirewall: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                firewall_id: components["parameters"]["FirewallId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "from": {
                 *         "address": "198.51.100.7"
                 *       },
                 *       "to": {
                 *         "server_id": "srv_06ex2v3m8n4k6q1r5s7t9w0y2z"
                 *       },
                 *       "protocol": "tcp",
                 *       "port": 443
                 *     }
                 */
                "application/json": components["schemas"]["ReachQuestion"];
            };
        };
        responses: {
            /** @description The verdict */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FirewallVerdict"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    listGateways: {
        parameters: {
            query?: {
                /** @description Items on a page */
                limit?: components["parameters"]["Limit"];
                /** @description The last answer's next_cursor */
                cursor?: components["parameters"]["Cursor"];
                /** @description Only this exact name */
                name?: components["parameters"]["NameFilter"];
                /** @description Where the name or a label (`key=value`) holds this, in small letters or capitals; of servers also a private address, of networks the address range */
                q?: components["parameters"]["Search"];
                /** @description Only this region */
                region?: components["parameters"]["RegionFilter"];
                /**
                 * @description Comma-separated terms: `k=v`, `k!=v`, `k in (a,b)`, `k notin (a,b)`, `k`, `!k`
                 * @example role=web,tier!=test
                 */
                label_selector?: components["parameters"]["LabelSelector"];
                /** @description Sort field; prefix with - for descending. In order of the region, those of a region are by name */
                sort?: components["parameters"]["SortByRegion"];
            };
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GatewayList"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    createGateway: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "out",
                 *       "network_id": "net_06ex2v3m8n4k6q1r5s7t9w0y2z",
                 *       "subnet_ids": [
                 *         "sub_06ex2v3m8n4k6q1r5s7t9w0y2z"
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["GatewayCreate"];
            };
        };
        responses: {
            /** @description Accepted; `Location` is its path */
            202: {
                headers: {
                    Location: components["headers"]["Location"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GatewayAndJob"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    getGateway: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                gateway_id: components["parameters"]["GatewayId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The gateway */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Gateway"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    deleteGateway: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description Go ahead only if the resource still has this ETag
                 * @example "g7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                gateway_id: components["parameters"]["GatewayId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Being deleted */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GatewayAndJob"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    updateGateway: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description Go ahead only if the resource still has this ETag
                 * @example "g7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                gateway_id: components["parameters"]["GatewayId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "description": "internet access of the shop"
                 *     }
                 */
                "application/json": components["schemas"]["GatewayUpdate"];
            };
        };
        responses: {
            /** @description As it is now */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GatewayAndJob"] & components["schemas"]["NothingQueued"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    attachGatewaySubnet: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description Go ahead only if the resource still has this ETag
                 * @example "g7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                gateway_id: components["parameters"]["GatewayId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "subnet_id": "sub_06ex2v3m8n4k6q1r5s7t9w0y2z"
                 *     }
                 */
                "application/json": components["schemas"]["GatewayAttach"];
            };
        };
        responses: {
            /** @description Accepted */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GatewayAndJob"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    detachGatewaySubnet: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description Go ahead only if the resource still has this ETag
                 * @example "g7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                gateway_id: components["parameters"]["GatewayId"];
                subnet_id: components["parameters"]["SubnetId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Accepted */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GatewayAndJob"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    listPortForwards: {
        parameters: {
            query?: {
                /** @description Items on a page */
                limit?: components["parameters"]["Limit"];
                /** @description The last answer's next_cursor */
                cursor?: components["parameters"]["Cursor"];
            };
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                gateway_id: components["parameters"]["GatewayId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PortForwardList"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    createPortForward: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description Go ahead only if the resource still has this ETag
                 * @example "g7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                gateway_id: components["parameters"]["GatewayId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "protocol": "tcp",
                 *       "listen_port": 443,
                 *       "server_id": "srv_06ex2v3m8n4k6q1r5s7t9w0y2z",
                 *       "target_port": 8443
                 *     }
                 */
                "application/json": components["schemas"]["PortForwardCreate"];
            };
        };
        responses: {
            /** @description Accepted */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PortForwardAndJob"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    deletePortForward: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description Go ahead only if the resource still has this ETag
                 * @example "g7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                gateway_id: components["parameters"]["GatewayId"];
                port_forward_id: components["parameters"]["PortForwardId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Accepted */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PortForwardAndJob"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    listIpPools: {
        parameters: {
            query?: {
                /** @description Items on a page */
                limit?: components["parameters"]["Limit"];
                /** @description The last answer's next_cursor */
                cursor?: components["parameters"]["Cursor"];
                /** @description Only this exact name */
                name?: components["parameters"]["NameFilter"];
                /** @description Only this region */
                region?: components["parameters"]["RegionFilter"];
                /** @description Sort field; prefix with - for descending. In order of the region, those of a region are by name */
                sort?: components["parameters"]["SortByRegion"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IpPoolList"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    createIpPool: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "region": "ist1",
                 *       "name": "public",
                 *       "gateway": "203.0.113.1",
                 *       "prefix_length": 24,
                 *       "reverse_name": "*.static.example.net"
                 *     }
                 */
                "application/json": components["schemas"]["IpPoolCreate"];
            };
        };
        responses: {
            /** @description Made; add ranges next */
            201: {
                headers: {
                    Location: components["headers"]["Location"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IpPool"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    getIpPool: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                ip_pool_id: components["parameters"]["IpPoolId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The pool */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IpPool"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    deleteIpPool: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description Go ahead only if the resource still has this ETag
                 * @example "g7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                ip_pool_id: components["parameters"]["IpPoolId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    updateIpPool: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description Go ahead only if the resource still has this ETag
                 * @example "g7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                ip_pool_id: components["parameters"]["IpPoolId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "description": "for customers of the first hall"
                 *     }
                 */
                "application/json": components["schemas"]["IpPoolUpdate"];
            };
        };
        responses: {
            /** @description As it is now */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IpPool"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    listIpPoolRanges: {
        parameters: {
            query?: {
                /** @description Items on a page */
                limit?: components["parameters"]["Limit"];
                /** @description The last answer's next_cursor */
                cursor?: components["parameters"]["Cursor"];
            };
            header?: never;
            path: {
                ip_pool_id: components["parameters"]["IpPoolId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IpPoolRangeList"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    addIpPoolRange: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                ip_pool_id: components["parameters"]["IpPoolId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "cidr": "203.0.113.0/25"
                 *     }
                 */
                "application/json": components["schemas"]["IpPoolRangeAdd"];
            };
        };
        responses: {
            /** @description Added */
            201: {
                headers: {
                    Location: components["headers"]["Location"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IpPoolRange"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    removeIpPoolRange: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                ip_pool_id: components["parameters"]["IpPoolId"];
                range_id: components["parameters"]["RangeId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Removed */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    getIpPoolUtilisation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                ip_pool_id: components["parameters"]["IpPoolId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Counted now */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IpPoolUtilisation"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    listIpPoolAllocations: {
        parameters: {
            query?: {
                /** @description Items on a page */
                limit?: components["parameters"]["Limit"];
                /** @description The last answer's next_cursor */
                cursor?: components["parameters"]["Cursor"];
            };
            header?: never;
            path: {
                ip_pool_id: components["parameters"]["IpPoolId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IpPoolAllocationList"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    allocateIpPoolAddresses: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                ip_pool_id: components["parameters"]["IpPoolId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "organisation_id": "org_06ex2v3m8n4k6q1r5s7t9w0y2z",
                 *       "count": 8
                 *     }
                 */
                "application/json": components["schemas"]["IpPoolAllocate"];
            };
        };
        responses: {
            /** @description Given */
            201: {
                headers: {
                    Location: components["headers"]["Location"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IpPoolAllocations"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    withdrawIpPoolAddress: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                ip_pool_id: components["parameters"]["IpPoolId"];
                address: components["parameters"]["AddressPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Withdrawn */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    listPublicIps: {
        parameters: {
            query?: {
                /** @description Items on a page */
                limit?: components["parameters"]["Limit"];
                /** @description The last answer's next_cursor */
                cursor?: components["parameters"]["Cursor"];
                /** @description Where the address, the PTR name or a label (`key=value`) holds this, in small letters or capitals */
                q?: components["parameters"]["SearchAddress"];
                /** @description Only this region */
                region?: components["parameters"]["RegionFilter"];
                /**
                 * @description Comma-separated terms: `k=v`, `k!=v`, `k in (a,b)`, `k notin (a,b)`, `k`, `!k`
                 * @example role=web,tier!=test
                 */
                label_selector?: components["parameters"]["LabelSelector"];
                /** @description Sort field; prefix with - for descending */
                sort?: components["parameters"]["SortByAddress"];
            };
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PublicIpList"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    createPublicIp: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "region": "ist1",
                 *       "labels": {
                 *         "role": "web"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["PublicIpCreate"];
            };
        };
        responses: {
            /** @description Reserved; `Location` is its path */
            201: {
                headers: {
                    Location: components["headers"]["Location"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PublicIp"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    getPublicIp: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                public_ip_id: components["parameters"]["PublicIpId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The address */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PublicIp"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    deletePublicIp: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description Go ahead only if the resource still has this ETag
                 * @example "g7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                public_ip_id: components["parameters"]["PublicIpId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Released */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    updatePublicIp: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description Go ahead only if the resource still has this ETag
                 * @example "g7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                public_ip_id: components["parameters"]["PublicIpId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "ptr": "web.example.org",
                 *       "delete_with_server": true
                 *     }
                 */
                "application/json": components["schemas"]["PublicIpUpdate"];
            };
        };
        responses: {
            /** @description As it is now */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PublicIp"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    attachPublicIp: {
        parameters: {
            query?: {
                /** @description Answer what would happen and what prevents it, and change nothing */
                dry_run?: components["parameters"]["DryRun"];
            };
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description Go ahead only if the resource still has this ETag
                 * @example "g7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                public_ip_id: components["parameters"]["PublicIpId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "server_id": "srv_06ex2v3m8n4k6q1r5s7t9w0y2z"
                 *     }
                 */
                "application/json": components["schemas"]["PublicIpAttach"];
            };
        };
        responses: {
            200: components["responses"]["DryRun"];
            /** @description Accepted */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PublicIpAndJob"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    detachPublicIp: {
        parameters: {
            query?: {
                /** @description Answer what would happen and what prevents it, and change nothing */
                dry_run?: components["parameters"]["DryRun"];
            };
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description Go ahead only if the resource still has this ETag
                 * @example "g7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                public_ip_id: components["parameters"]["PublicIpId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["DryRun"];
            /** @description Accepted */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PublicIpAndJob"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    listCertificates: {
        parameters: {
            query?: {
                /** @description Items on a page */
                limit?: components["parameters"]["Limit"];
                /** @description The last answer's next_cursor */
                cursor?: components["parameters"]["Cursor"];
                /** @description Only this exact name */
                name?: components["parameters"]["NameFilter"];
                /** @description Where the name or a label (`key=value`) holds this, in small letters or capitals; of servers also a private address, of networks the address range */
                q?: components["parameters"]["Search"];
                /** @description Only this region */
                region?: components["parameters"]["RegionFilter"];
                /**
                 * @description Comma-separated terms: `k=v`, `k!=v`, `k in (a,b)`, `k notin (a,b)`, `k`, `!k`
                 * @example role=web,tier!=test
                 */
                label_selector?: components["parameters"]["LabelSelector"];
                /** @description Sort field; prefix with - for descending */
                sort?: components["parameters"]["Sort"];
            };
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CertificateList"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    createCertificate: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "shop",
                 *       "type": "uploaded",
                 *       "region": "eu-1",
                 *       "certificate": "-----BEGIN CERTIFICATE-----\nMIIB…\n-----END CERTIFICATE-----\n",
                 *       "private_key": "-----BEGIN PRIVATE KEY-----\nMIGH…\n-----END PRIVATE KEY-----\n"
                 *     }
                 */
                "application/json": components["schemas"]["CertificateCreate"];
            };
        };
        responses: {
            /** @description Stored; it can be used at once */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CertificateAndJob"] & components["schemas"]["NothingQueued"];
                };
            };
            /** @description Accepted; the job makes its key and the request for it in the region, and the CA is asked then */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CertificateAndJob"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    getCertificate: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                certificate_id: components["parameters"]["CertificateId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The certificate, without its private key */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Certificate"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    deleteCertificate: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description Go ahead only if the resource still has this ETag
                 * @example "g7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                certificate_id: components["parameters"]["CertificateId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    updateCertificate: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description Go ahead only if the resource still has this ETag
                 * @example "g7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                certificate_id: components["parameters"]["CertificateId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "shop 2027",
                 *       "labels": {
                 *         "team": "web"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["CertificateUpdate"];
            };
        };
        responses: {
            /** @description As it is now */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Certificate"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    replaceCertificateMaterial: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description Go ahead only if the resource still has this ETag
                 * @example "g7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                certificate_id: components["parameters"]["CertificateId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "certificate": "-----BEGIN CERTIFICATE-----\nMIIB…\n-----END CERTIFICATE-----\n",
                 *       "private_key": "-----BEGIN PRIVATE KEY-----\nMIGH…\n-----END PRIVATE KEY-----\n"
                 *     }
                 */
                "application/json": components["schemas"]["CertificateMaterial"];
            };
        };
        responses: {
            /** @description As it is now */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Certificate"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    renewCertificate: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                certificate_id: components["parameters"]["CertificateId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description An attempt was under way, or has been taken up where it was */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CertificateAndJob"] & components["schemas"]["NothingQueued"];
                };
            };
            /** @description Accepted; the job makes the new key */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CertificateAndJob"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    getCertificateChallenges: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                certificate_id: components["parameters"]["CertificateId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One item a name */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CertificateChallengeList"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    listDomains: {
        parameters: {
            query?: {
                /** @description Items on a page */
                limit?: components["parameters"]["Limit"];
                /** @description The last answer's next_cursor */
                cursor?: components["parameters"]["Cursor"];
                /** @description Only the domain of this name */
                name?: components["parameters"]["DomainNameFilter"];
                /** @description Where the name or a label (`key=value`) holds this, in small letters or capitals; of servers also a private address, of networks the address range */
                q?: components["parameters"]["Search"];
                /**
                 * @description Comma-separated terms: `k=v`, `k!=v`, `k in (a,b)`, `k notin (a,b)`, `k`, `!k`
                 * @example role=web,tier!=test
                 */
                label_selector?: components["parameters"]["LabelSelector"];
                /** @description Sort field; prefix with - for descending */
                sort?: components["parameters"]["Sort"];
            };
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DomainList"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    createDomain: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "example.com",
                 *       "ttl": 3600
                 *     }
                 */
                "application/json": components["schemas"]["DomainCreate"];
            };
        };
        responses: {
            /** @description Added; it is not served before it is proven */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DomainAndJob"] & components["schemas"]["NothingQueued"];
                };
            };
            /** @description Accepted; the parent domain is the organisation's, so nothing is left to prove */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DomainAndJob"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    getDomain: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                /** @description The domain's id, or its name */
                domain_id: components["parameters"]["DomainId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The domain */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Domain"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    deleteDomain: {
        parameters: {
            query?: {
                /** @description Remove it from the name servers now, without a removal buffer */
                purge?: boolean;
            };
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description Go ahead only if the resource still has this ETag
                 * @example "g7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                /** @description The domain's id, or its name */
                domain_id: components["parameters"]["DomainId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Accepted; `job` is null for a domain in the removal buffer */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DomainAndJob"];
                };
            };
            /** @description Deleted; it was not proven */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    updateDomain: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description Go ahead only if the resource still has this ETag
                 * @example "g7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                /** @description The domain's id, or its name */
                domain_id: components["parameters"]["DomainId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "ttl": 300
                 *     }
                 */
                "application/json": components["schemas"]["DomainUpdate"];
            };
        };
        responses: {
            /** @description As it is now */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Domain"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    cancelDomainDeletion: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The domain's id, or its name */
                domain_id: components["parameters"]["DomainId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description As it is now */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Domain"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    verifyDomain: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The domain's id, or its name */
                domain_id: components["parameters"]["DomainId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was proven before, or has a proof of its own now */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DomainAndJob"] & components["schemas"]["NothingQueued"];
                };
            };
            /** @description Proven; the job makes the zone at the name servers */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DomainAndJob"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    checkDomain: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                /** @description The domain's id, or its name */
                domain_id: components["parameters"]["DomainId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What the name servers answer */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DomainCheck"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    applyDomain: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The domain's id, or its name */
                domain_id: components["parameters"]["DomainId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Accepted */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DomainAndJob"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    setDomainDnssec: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description Go ahead only if the resource still has this ETag
                 * @example "g7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                /** @description The domain's id, or its name */
                domain_id: components["parameters"]["DomainId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "enabled": true
                 *     }
                 */
                "application/json": components["schemas"]["DomainDnssecSet"];
            };
        };
        responses: {
            /** @description It is so already */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DomainAndJob"] & components["schemas"]["NothingQueued"];
                };
            };
            /** @description Accepted */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DomainAndJob"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    exportZoneFile: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                /** @description The domain's id, or its name */
                domain_id: components["parameters"]["DomainId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The file */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    importZoneFile: {
        parameters: {
            query?: {
                /** @description Answer what would happen and what prevents it, and change nothing */
                dry_run?: components["parameters"]["DryRun"];
            };
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description Go ahead only if the resource still has this ETag
                 * @example "g7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                /** @description The domain's id, or its name */
                domain_id: components["parameters"]["DomainId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "zone_file": "www 300 IN A 192.0.2.10\n"
                 *     }
                 */
                "application/json": components["schemas"]["ZoneFileImport"];
            };
        };
        responses: {
            /** @description Nothing to do, or what would change (dry_run=true) */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecordChanges"] & components["schemas"]["NothingQueued"];
                };
            };
            /** @description Accepted */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecordChanges"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    listRecordSets: {
        parameters: {
            query?: {
                /** @description Items on a page */
                limit?: components["parameters"]["Limit"];
                /** @description The last answer's next_cursor */
                cursor?: components["parameters"]["Cursor"];
                /** @description Where the name or a value holds this, in small letters or capitals */
                q?: components["parameters"]["RecordSearch"];
                /** @description Only this name, relative to the domain; `@` is the domain itself */
                name?: string;
                /** @description Only these types (repeat the parameter) */
                type?: components["schemas"]["RecordType"][];
            };
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                /** @description The domain's id, or its name */
                domain_id: components["parameters"]["DomainId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecordSetList"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    getRecordSet: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                /** @description The domain's id, or its name */
                domain_id: components["parameters"]["DomainId"];
                /** @description Relative to the domain; `@` is the domain itself */
                record_name: components["parameters"]["RecordName"];
                record_type: components["parameters"]["RecordTypePath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The record set */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecordSet"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    setRecordSet: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description Go ahead only if the resource still has this ETag
                 * @example "g7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /** @description `*`: go ahead only if there is none yet */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
            };
            path: {
                /** @description The domain's id, or its name */
                domain_id: components["parameters"]["DomainId"];
                /** @description Relative to the domain; `@` is the domain itself */
                record_name: components["parameters"]["RecordName"];
                record_type: components["parameters"]["RecordTypePath"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "ttl": 300,
                 *       "values": [
                 *         "192.0.2.10"
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["RecordSetWrite"];
            };
        };
        responses: {
            /** @description It is so already */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecordSetAndJob"] & components["schemas"]["NothingQueued"];
                };
            };
            /** @description Written; the domain is not served yet */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecordSetAndJob"] & components["schemas"]["NothingQueued"];
                };
            };
            /** @description Accepted */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecordSetAndJob"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    deleteRecordSet: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description Go ahead only if the resource still has this ETag
                 * @example "g7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                /** @description The domain's id, or its name */
                domain_id: components["parameters"]["DomainId"];
                /** @description Relative to the domain; `@` is the domain itself */
                record_name: components["parameters"]["RecordName"];
                record_type: components["parameters"]["RecordTypePath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted; the domain is not served yet */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecordChanges"] & components["schemas"]["NothingQueued"];
                };
            };
            /** @description Accepted */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecordChanges"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    changeRecordValues: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The domain's id, or its name */
                domain_id: components["parameters"]["DomainId"];
                /** @description Relative to the domain; `@` is the domain itself */
                record_name: components["parameters"]["RecordName"];
                record_type: components["parameters"]["RecordTypePath"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "add": [
                 *         "v=spf1 -all"
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["RecordValuesChange"];
            };
        };
        responses: {
            /** @description It is so already, or the domain is not served yet */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecordChanges"] & components["schemas"]["NothingQueued"];
                };
            };
            /** @description Accepted */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecordChanges"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    changeRecordSets: {
        parameters: {
            query?: {
                /** @description Answer what would happen and what prevents it, and change nothing */
                dry_run?: components["parameters"]["DryRun"];
            };
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The domain's id, or its name */
                domain_id: components["parameters"]["DomainId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "changes": [
                 *         {
                 *           "op": "upsert",
                 *           "name": "www",
                 *           "type": "A",
                 *           "values": [
                 *             "192.0.2.10"
                 *           ]
                 *         },
                 *         {
                 *           "op": "delete",
                 *           "name": "old",
                 *           "type": "CNAME"
                 *         }
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["RecordSetChanges"];
            };
        };
        responses: {
            /** @description Nothing to do, or what would change (dry_run=true) */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecordChanges"] & components["schemas"]["NothingQueued"];
                };
            };
            /** @description Accepted */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecordChanges"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    listLoadBalancers: {
        parameters: {
            query?: {
                /** @description Items on a page */
                limit?: components["parameters"]["Limit"];
                /** @description The last answer's next_cursor */
                cursor?: components["parameters"]["Cursor"];
                /** @description Only this exact name */
                name?: components["parameters"]["NameFilter"];
                /** @description Where the name or a label (`key=value`) holds this, in small letters or capitals; of servers also a private address, of networks the address range */
                q?: components["parameters"]["Search"];
                /** @description Only this region */
                region?: components["parameters"]["RegionFilter"];
                /**
                 * @description Comma-separated terms: `k=v`, `k!=v`, `k in (a,b)`, `k notin (a,b)`, `k`, `!k`
                 * @example role=web,tier!=test
                 */
                label_selector?: components["parameters"]["LabelSelector"];
                /** @description Sort field; prefix with - for descending. In order of the region, those of a region are by name */
                sort?: components["parameters"]["SortByRegion"];
            };
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LoadBalancerList"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    createLoadBalancer: {
        parameters: {
            query?: {
                /** @description Answer what would happen and what prevents it, and change nothing */
                dry_run?: components["parameters"]["DryRun"];
            };
            header?: {
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "front",
                 *       "subnet_id": "sub_06ex2v3m8n4k6q1r5s7t9w0y2z",
                 *       "listeners": [
                 *         {
                 *           "protocol": "http",
                 *           "port": 80,
                 *           "target_port": 8080
                 *         }
                 *       ],
                 *       "targets": [
                 *         {
                 *           "label_selector": "role=web"
                 *         }
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["LoadBalancerCreate"];
            };
        };
        responses: {
            /** @description What would happen (dry_run=true) */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LoadBalancerDryRun"];
                };
            };
            /** @description Accepted; `Location` is its path */
            202: {
                headers: {
                    Location: components["headers"]["Location"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LoadBalancerAndJob"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    getLoadBalancer: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                load_balancer_id: components["parameters"]["LoadBalancerId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The load balancer */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LoadBalancer"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    deleteLoadBalancer: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description Go ahead only if the resource still has this ETag
                 * @example "g7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                load_balancer_id: components["parameters"]["LoadBalancerId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Being deleted */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LoadBalancerAndJob"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    updateLoadBalancer: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description Go ahead only if the resource still has this ETag
                 * @example "g7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                load_balancer_id: components["parameters"]["LoadBalancerId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "algorithm": "least_connections"
                 *     }
                 */
                "application/json": components["schemas"]["LoadBalancerUpdate"];
            };
        };
        responses: {
            /** @description As it is now; the machines need no change */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LoadBalancerAndJob"] & components["schemas"]["NothingQueued"];
                };
            };
            /** @description Accepted */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LoadBalancerAndJob"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    applyLoadBalancer: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description Go ahead only if the resource still has this ETag
                 * @example "g7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                load_balancer_id: components["parameters"]["LoadBalancerId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Accepted */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LoadBalancerAndJob"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    resizeLoadBalancer: {
        parameters: {
            query?: {
                /** @description Answer what would happen and what prevents it, and change nothing */
                dry_run?: components["parameters"]["DryRun"];
            };
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description Go ahead only if the resource still has this ETag
                 * @example "g7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                load_balancer_id: components["parameters"]["LoadBalancerId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "package": "m"
                 *     }
                 */
                "application/json": components["schemas"]["LoadBalancerResize"];
            };
        };
        responses: {
            /** @description What would happen (dry_run=true) */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LoadBalancerDryRun"];
                };
            };
            /** @description Accepted */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LoadBalancerAndJob"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    getLoadBalancerHealth: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                load_balancer_id: components["parameters"]["LoadBalancerId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description As it was seen */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LoadBalancerHealth"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    getLoadBalancerMetrics: {
        parameters: {
            query?: {
                /** @description How far back */
                hours?: number;
            };
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                load_balancer_id: components["parameters"]["LoadBalancerId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The hours with traffic, the newest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LoadBalancerMetrics"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    listListeners: {
        parameters: {
            query?: {
                /** @description Items on a page */
                limit?: components["parameters"]["Limit"];
                /** @description The last answer's next_cursor */
                cursor?: components["parameters"]["Cursor"];
            };
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                load_balancer_id: components["parameters"]["LoadBalancerId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListenerList"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    createListener: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description Go ahead only if the resource still has this ETag
                 * @example "g7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                load_balancer_id: components["parameters"]["LoadBalancerId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "protocol": "tcp",
                 *       "port": 5432
                 *     }
                 */
                "application/json": components["schemas"]["ListenerCreate"];
            };
        };
        responses: {
            /** @description Accepted */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListenerAndJob"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    getListener: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                load_balancer_id: components["parameters"]["LoadBalancerId"];
                listener_id: components["parameters"]["ListenerId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The listener */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Listener"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    deleteListener: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description Go ahead only if the resource still has this ETag
                 * @example "g7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                load_balancer_id: components["parameters"]["LoadBalancerId"];
                listener_id: components["parameters"]["ListenerId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Accepted */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LoadBalancerAndJob"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    updateListener: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description Go ahead only if the resource still has this ETag
                 * @example "g7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                load_balancer_id: components["parameters"]["LoadBalancerId"];
                listener_id: components["parameters"]["ListenerId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "target_port": 8081
                 *     }
                 */
                "application/json": components["schemas"]["ListenerUpdate"];
            };
        };
        responses: {
            /** @description Accepted */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListenerAndJob"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    listTargets: {
        parameters: {
            query?: {
                /** @description Items on a page */
                limit?: components["parameters"]["Limit"];
                /** @description The last answer's next_cursor */
                cursor?: components["parameters"]["Cursor"];
            };
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                load_balancer_id: components["parameters"]["LoadBalancerId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TargetList"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    createTarget: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description Go ahead only if the resource still has this ETag
                 * @example "g7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                load_balancer_id: components["parameters"]["LoadBalancerId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "server_id": "srv_06ex2v3m8n4k6q1r5s7t9w0y2z",
                 *       "weight": 2
                 *     }
                 */
                "application/json": components["schemas"]["TargetCreate"];
            };
        };
        responses: {
            /** @description Accepted */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TargetAndJob"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    deleteTarget: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description Go ahead only if the resource still has this ETag
                 * @example "g7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                load_balancer_id: components["parameters"]["LoadBalancerId"];
                target_id: components["parameters"]["TargetId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Accepted */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LoadBalancerAndJob"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    updateTarget: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description Go ahead only if the resource still has this ETag
                 * @example "g7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                load_balancer_id: components["parameters"]["LoadBalancerId"];
                target_id: components["parameters"]["TargetId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "drain": true
                 *     }
                 */
                "application/json": components["schemas"]["TargetUpdate"];
            };
        };
        responses: {
            /** @description Accepted */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TargetAndJob"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    listServers: {
        parameters: {
            query?: {
                /** @description Items on a page */
                limit?: components["parameters"]["Limit"];
                /** @description The last answer's next_cursor */
                cursor?: components["parameters"]["Cursor"];
                /** @description Only this exact name */
                name?: components["parameters"]["NameFilter"];
                /** @description Only this region */
                region?: components["parameters"]["RegionFilter"];
                /** @description Only these statuses (repeat the parameter) */
                status?: components["parameters"]["ServerStatusFilter"];
                /**
                 * @description Comma-separated terms: `k=v`, `k!=v`, `k in (a,b)`, `k notin (a,b)`, `k`, `!k`
                 * @example role=web,tier!=test
                 */
                label_selector?: components["parameters"]["LabelSelector"];
                /** @description The servers that a load balancer or a cluster manages, instead of all others */
                managed?: boolean;
                /** @description Sort field; prefix with - for descending. In order of the region, those of a region are by name */
                sort?: components["parameters"]["SortByRegion"];
                /** @description Where the name or a label (`key=value`) holds this, in small letters or capitals; of servers also a private address, of networks the address range */
                q?: components["parameters"]["Search"];
            };
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ServerList"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    createServer: {
        parameters: {
            query?: {
                /** @description Answer what would happen and what prevents it, and change nothing */
                dry_run?: components["parameters"]["DryRun"];
            };
            header?: {
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "web-1",
                 *       "region": "ist1",
                 *       "image": "ubuntu-24.04",
                 *       "package": "m",
                 *       "ssh_key_ids": [
                 *         "key_06ex2v3m8n4k6q1r5s7t9w0y2z"
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["ServerCreate"];
            };
        };
        responses: {
            200: components["responses"]["DryRun"];
            /** @description Accepted. `Location` is the server, `Link` with rel=monitor the job. */
            202: {
                headers: {
                    Location: components["headers"]["Location"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ServerCreated"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    importServer: {
        parameters: {
            query?: {
                /** @description Answer what would happen and what prevents it, and change nothing */
                dry_run?: components["parameters"]["DryRun"];
            };
            header?: {
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "old-web",
                 *       "region": "ist1",
                 *       "vmid": 20431,
                 *       "image": "debian-12",
                 *       "package": "m",
                 *       "subnet_id": "sub_06ex2v3m8n4k6q1r5s7t9w0y2z",
                 *       "private_ip": "10.0.0.40"
                 *     }
                 */
                "application/json": components["schemas"]["ServerImport"];
            };
        };
        responses: {
            200: components["responses"]["DryRun"];
            /** @description Accepted. `Link` with rel=monitor is the job. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ServerAndJob"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    getServer: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                server_id: components["parameters"]["ServerId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The server */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Server"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    deleteServer: {
        parameters: {
            query?: {
                /** @description Answer what would happen and what prevents it, and change nothing */
                dry_run?: components["parameters"]["DryRun"];
                /** @description Destroy it now, without a removal buffer */
                purge?: boolean;
            };
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description Go ahead only if the resource still has this ETag
                 * @example "g7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                server_id: components["parameters"]["ServerId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["DryRun"];
            /** @description Accepted */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ServerAndJob"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    updateServer: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description Go ahead only if the resource still has this ETag
                 * @example "g7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                server_id: components["parameters"]["ServerId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "labels": {
                 *         "role": "web",
                 *         "tier": null
                 *       },
                 *       "protection": {
                 *         "delete": true
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ServerUpdate"];
            };
        };
        responses: {
            /** @description As it is now */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Server"];
                };
            };
            /** @description Renamed; the job applies it in the region */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ServerAndJob"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    cancelServerDeletion: {
        parameters: {
            query?: {
                /** @description Answer what would happen and what prevents it, and change nothing */
                dry_run?: components["parameters"]["DryRun"];
            };
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                server_id: components["parameters"]["ServerId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["DryRun"];
            /** @description Accepted */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ServerAndJob"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    powerServer: {
        parameters: {
            query?: {
                /** @description Answer what would happen and what prevents it, and change nothing */
                dry_run?: components["parameters"]["DryRun"];
            };
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description Go ahead only if the resource still has this ETag
                 * @example "g7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                server_id: components["parameters"]["ServerId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "action": "reboot",
                 *       "timeout_seconds": 60,
                 *       "force_after": true
                 *     }
                 */
                "application/json": components["schemas"]["ServerPowerRequest"];
            };
        };
        responses: {
            200: components["responses"]["DryRun"];
            /** @description Accepted */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ServerAndJob"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    resizeServer: {
        parameters: {
            query?: {
                /** @description Answer what would happen and what prevents it, and change nothing */
                dry_run?: components["parameters"]["DryRun"];
            };
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description Go ahead only if the resource still has this ETag
                 * @example "g7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                server_id: components["parameters"]["ServerId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "package": "l",
                 *       "allow_restart": true
                 *     }
                 */
                "application/json": components["schemas"]["ServerResizeRequest"];
            };
        };
        responses: {
            200: components["responses"]["DryRun"];
            /** @description Accepted */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ServerAndJob"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    openServerConsole: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                server_id: components["parameters"]["ServerId"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "type": "serial"
                 *     }
                 */
                "application/json": components["schemas"]["ConsoleOpen"];
            };
        };
        responses: {
            /** @description A ticket */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConsoleTicket"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    listServerConsoleSessions: {
        parameters: {
            query?: {
                /** @description Items on a page */
                limit?: components["parameters"]["Limit"];
                /** @description The last answer's next_cursor */
                cursor?: components["parameters"]["Cursor"];
            };
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                server_id: components["parameters"]["ServerId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConsoleSessionList"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    endServerConsoleSession: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                server_id: components["parameters"]["ServerId"];
                session_id: components["parameters"]["ConsoleSessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Ended */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    rebuildServer: {
        parameters: {
            query?: {
                /** @description Answer what would happen and what prevents it, and change nothing */
                dry_run?: components["parameters"]["DryRun"];
            };
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description Go ahead only if the resource still has this ETag
                 * @example "g7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                server_id: components["parameters"]["ServerId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "image": "debian-13",
                 *       "confirm_name": "web-1"
                 *     }
                 */
                "application/json": components["schemas"]["ServerRebuildRequest"];
            };
        };
        responses: {
            200: components["responses"]["DryRun"];
            /** @description Accepted */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ServerRebuilt"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    resetServerPassword: {
        parameters: {
            query?: {
                /** @description Answer what would happen and what prevents it, and change nothing */
                dry_run?: components["parameters"]["DryRun"];
            };
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description Go ahead only if the resource still has this ETag
                 * @example "g7"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                server_id: components["parameters"]["ServerId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "when": "now"
                 *     }
                 */
                "application/json": components["schemas"]["ServerPasswordResetRequest"];
            };
        };
        responses: {
            200: components["responses"]["DryRun"];
            /** @description Accepted */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ServerPasswordChanged"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    reconcileServer: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                server_id: components["parameters"]["ServerId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Accepted */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ServerAndJob"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    lockServer: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                server_id: components["parameters"]["ServerId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "reason": "Abuse report 4711"
                 *     }
                 */
                "application/json": components["schemas"]["ServerLockRequest"];
            };
        };
        responses: {
            /** @description As it is now */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Server"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    unlockServer: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                server_id: components["parameters"]["ServerId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description As it is now */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Server"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    listJobs: {
        parameters: {
            query?: {
                /** @description Items on a page */
                limit?: components["parameters"]["Limit"];
                /** @description The last answer's next_cursor */
                cursor?: components["parameters"]["Cursor"];
                /** @description Only jobs of this resource (its id) */
                resource?: string;
                /** @description Only these statuses (repeat the parameter) */
                status?: components["parameters"]["JobStatusFilter"];
                /** @description Only these kinds (repeat the parameter) */
                kind?: components["parameters"]["JobKindFilter"];
                /** @description Only this region */
                region?: components["parameters"]["RegionFilter"];
            };
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page, newest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobList"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    getJob: {
        parameters: {
            query?: {
                /** @description Wait for a change for up to this many seconds */
                wait?: number;
            };
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path: {
                job_id: components["parameters"]["JobId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The job */
            200: {
                headers: {
                    RetryAfter: components["headers"]["RetryAfter"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    streamJobEvents: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /** @description The id of the last event seen */
                "Last-Event-ID"?: string;
            };
            path: {
                job_id: components["parameters"]["JobId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The stream */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    cancelJob: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                job_id: components["parameters"]["JobId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Asked */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    retryJob: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
                /**
                 * @description Makes a retry of exactly this request safe for 24 hours
                 * @example 5f0f4c9e-create-web-1
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                job_id: components["parameters"]["JobId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Queued again */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    listUsage: {
        parameters: {
            query?: {
                /** @description Items on a page */
                limit?: components["parameters"]["Limit"];
                /** @description The last answer's next_cursor */
                cursor?: components["parameters"]["Cursor"];
                /** @description Only these kinds (repeat the parameter) */
                kind?: components["schemas"]["UsageKind"][];
                /** @description Only this resource; of a load balancer or a cluster also the servers that it runs on */
                resource?: string;
                /** @description Only this region */
                region?: components["parameters"]["RegionFilter"];
                /**
                 * @description Comma-separated terms: `k=v`, `k!=v`, `k in (a,b)`, `k notin (a,b)`, `k`, `!k`
                 * @example role=web,tier!=test
                 */
                label_selector?: components["parameters"]["LabelSelector"];
                /** @description Events at or after this time */
                from?: string;
                /** @description Events before this time */
                to?: string;
            };
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UsageList"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    listUsageSegments: {
        parameters: {
            query?: {
                /** @description Items on a page */
                limit?: components["parameters"]["Limit"];
                /** @description The last answer's next_cursor */
                cursor?: components["parameters"]["Cursor"];
                /** @description Only these kinds (repeat the parameter) */
                kind?: components["schemas"]["UsageSegmentKind"][];
                /** @description Only this resource; of a load balancer or a cluster also the servers that it runs on */
                resource?: string;
                /** @description Only this region */
                region?: components["parameters"]["RegionFilter"];
                /**
                 * @description Comma-separated terms: `k=v`, `k!=v`, `k in (a,b)`, `k notin (a,b)`, `k`, `!k`
                 * @example role=web,tier!=test
                 */
                label_selector?: components["parameters"]["LabelSelector"];
                /** @description Segments that end after this time, or have not ended */
                from?: string;
                /** @description Segments that begin before this time */
                to?: string;
            };
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UsageSegmentList"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    summariseUsage: {
        parameters: {
            query?: {
                /** @description Items on a page */
                limit?: components["parameters"]["Limit"];
                /** @description The last answer's next_cursor */
                cursor?: components["parameters"]["Cursor"];
                /**
                 * @description resource, package, day or label:<key>
                 * @example label:team
                 */
                group_by?: string;
                /** @description Only this resource; of a load balancer or a cluster also the servers that it runs on */
                resource?: string;
                /** @description Only this region */
                region?: components["parameters"]["RegionFilter"];
                /**
                 * @description Comma-separated terms: `k=v`, `k!=v`, `k in (a,b)`, `k notin (a,b)`, `k`, `!k`
                 * @example role=web,tier!=test
                 */
                label_selector?: components["parameters"]["LabelSelector"];
                /** @description Default: the beginning of this month (UTC) */
                from?: string;
                /** @description Default, and at the latest: now */
                to?: string;
            };
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page, by group */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UsageSummary"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    exportUsageCsv: {
        parameters: {
            query?: {
                /** @description Segments, from when to when; or the events that they are computed from */
                of?: "segments" | "events";
                /** @description Only this resource; of a load balancer or a cluster also the servers that it runs on */
                resource?: string;
                /** @description Only this region */
                region?: components["parameters"]["RegionFilter"];
                /**
                 * @description Comma-separated terms: `k=v`, `k!=v`, `k in (a,b)`, `k notin (a,b)`, `k`, `!k`
                 * @example role=web,tier!=test
                 */
                label_selector?: components["parameters"]["LabelSelector"];
                /** @description What ends after this time (segments), or is at or after it (events) */
                from?: string;
                /** @description What begins before this time */
                to?: string;
            };
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The file */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/csv": string;
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    exportUsageNdjson: {
        parameters: {
            query?: {
                /** @description Segments, from when to when; or the events that they are computed from */
                of?: "segments" | "events";
                /** @description Only this resource; of a load balancer or a cluster also the servers that it runs on */
                resource?: string;
                /** @description Only this region */
                region?: components["parameters"]["RegionFilter"];
                /**
                 * @description Comma-separated terms: `k=v`, `k!=v`, `k in (a,b)`, `k notin (a,b)`, `k`, `!k`
                 * @example role=web,tier!=test
                 */
                label_selector?: components["parameters"]["LabelSelector"];
                /** @description What ends after this time (segments), or is at or after it (events) */
                from?: string;
                /** @description What begins before this time */
                to?: string;
            };
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The file */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-ndjson": string;
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    listQuotas: {
        parameters: {
            query?: never;
            header?: {
                /** @description For operators only, the organisation to act in; the audit trail records it */
                "Kule-Organisation"?: components["parameters"]["OnBehalfOf"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All of them */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QuotaList"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    getInvariants: {
        parameters: {
            query?: {
                /** @description Check now */
                fresh?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was found */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InvariantReport"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    listOperatorJobs: {
        parameters: {
            query?: {
                /** @description Items on a page */
                limit?: components["parameters"]["Limit"];
                /** @description The last answer's next_cursor */
                cursor?: components["parameters"]["Cursor"];
                /** @description Only this region */
                region?: components["parameters"]["RegionFilter"];
                /** @description Only these statuses (repeat the parameter) */
                status?: components["parameters"]["JobStatusFilter"];
                /** @description Only these kinds (repeat the parameter) */
                kind?: components["parameters"]["JobKindFilter"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of jobs, newest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperatorJobList"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    listStuckJobs: {
        parameters: {
            query?: {
                /** @description Items on a page */
                limit?: components["parameters"]["Limit"];
                /** @description The last answer's next_cursor */
                cursor?: components["parameters"]["Cursor"];
                /** @description Only this region */
                region?: components["parameters"]["RegionFilter"];
                /** @description Only these reasons (repeat the parameter) */
                reason?: components["schemas"]["StuckReason"][];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of jobs, those that wait longest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StuckJobList"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    getRestore: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The restore */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RestoreReport"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    listHeldVms: {
        parameters: {
            query?: {
                /** @description Items on a page */
                limit?: components["parameters"]["Limit"];
                /** @description The last answer's next_cursor */
                cursor?: components["parameters"]["Cursor"];
                /** @description Only this region */
                region?: components["parameters"]["RegionFilter"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of VMs, newest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HeldVmList"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    listDrift: {
        parameters: {
            query?: {
                /** @description Items on a page */
                limit?: components["parameters"]["Limit"];
                /** @description The last answer's next_cursor */
                cursor?: components["parameters"]["Cursor"];
                /** @description Only this region */
                region?: components["parameters"]["RegionFilter"];
                /** @description Only these kinds (repeat the parameter) */
                kind?: components["schemas"]["DriftKind"][];
                /** @description Of this server only */
                server_id?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of differences, newest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DriftList"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    claimJob: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "claim_id": "0f9c6f7e-6d0f-4a51-9d1c-8f0c9f4f6a11",
                 *       "agent_version": "0.1.0",
                 *       "capabilities": [
                 *         "ServerCreate",
                 *         "ServerStop",
                 *         "ServerRestore",
                 *         "ServerDestroy"
                 *       ],
                 *       "wait_seconds": 20
                 *     }
                 */
                "application/json": components["schemas"]["ClaimRequest"];
            };
        };
        responses: {
            /** @description A job */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClaimedJob"];
                };
            };
            /** @description Nothing to do */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    claimConsole: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "claim_id": "0f9c6f7e-6d0f-4a51-9d1c-8f0c9f4f6a11",
                 *       "agent_version": "0.1.0",
                 *       "wait_seconds": 20
                 *     }
                 */
                "application/json": components["schemas"]["ConsoleClaim"];
            };
        };
        responses: {
            /** @description A session */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClaimedConsole"];
                };
            };
            /** @description No session waits */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    reportStep: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                job_id: components["parameters"]["JobId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "epoch": 1,
                 *       "seq": 3,
                 *       "phase": "apply",
                 *       "step": {
                 *         "name": "clone",
                 *         "status": "running",
                 *         "message": "clone of template 9000 to VM 20000"
                 *       },
                 *       "progress": 40
                 *     }
                 */
                "application/json": components["schemas"]["StepReport"];
            };
        };
        responses: {
            /** @description Recorded */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StepAck"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    reportHealth: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "agent_version": "0.1.0",
                 *       "hypervisor": {
                 *         "kind": "proxmox",
                 *         "reachable": true,
                 *         "version": "9.1.4",
                 *         "nodes": [
                 *           {
                 *             "name": "pve1",
                 *             "online": true
                 *           }
                 *         ]
                 *       },
                 *       "templates": [
                 *         {
                 *           "image": "ubuntu-24.04",
                 *           "ok": true
                 *         }
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["HealthReport"];
            };
        };
        responses: {
            /** @description Recorded */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HealthAck"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    getEnrolmentAuthority: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The certificate, or null where the API's certificate is of a public authority */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EnrolmentAuthority"];
                };
            };
            429: components["responses"]["RateLimited"];
        };
    };
    redeemEnrolment: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "secret": "kule_enr_...",
                 *       "name": "agent1"
                 *     }
                 */
                "application/json": components["schemas"]["EnrolmentRedemption"];
            };
        };
        responses: {
            /** @description Enrolled */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Enrolled"];
                };
            };
            400: components["responses"]["MalformedJson"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    reportInventory: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "agent_version": "0.1.0",
                 *       "agent_run": "7d1f0d1c-0f6f-4d52-8ed5-0b35f0f0b8a3",
                 *       "every_seconds": 30,
                 *       "pass": 17,
                 *       "batch": 0,
                 *       "private_bridge": "vmbr1",
                 *       "vms": [
                 *         {
                 *           "vmid": 20000,
                 *           "node": "pve1",
                 *           "state": "seen",
                 *           "seen_after_ms": 120,
                 *           "power": "on",
                 *           "name": "web-1",
                 *           "vcpu": 1
                 *         }
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["InventoryReport"];
            };
        };
        responses: {
            /** @description Recorded, or not */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InventoryAck"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    reportLoadBalancers: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "agent_version": "0.1.0",
                 *       "agent_name": "agent-1",
                 *       "reports": [
                 *         {
                 *           "load_balancer_id": "lb_06ex2v3m8n4k6q1r5s7t9w0y2z",
                 *           "slot": 1,
                 *           "server_id": "srv_06ex2v3m8n4k6q1r5s7t9w0y2z",
                 *           "asked_after_ms": 900,
                 *           "seen_after_ms": null,
                 *           "status": null
                 *         }
                 *       ],
                 *       "after": null
                 *     }
                 */
                "application/json": components["schemas"]["LoadBalancerReport"];
            };
        };
        responses: {
            /** @description Recorded, and the machines to ask next */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LoadBalancerReportAck"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    getAgentReleaseKeys: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The envelopes, the oldest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentReleaseKeys"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    getAgentRelease: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                version: components["parameters"]["ReleaseVersion"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The manifest */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentReleaseManifest"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
    downloadAgentRelease: {
        parameters: {
            query?: never;
            header?: {
                /** @description `bytes=N-`: the file from its byte N on */
                Range?: string;
                /** @description The ETag of the file that the first bytes are of */
                "If-Range"?: string;
            };
            path: {
                version: components["parameters"]["ReleaseVersion"];
                architecture: components["parameters"]["ReleaseArchitecture"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The file */
            200: {
                headers: {
                    ETag: components["headers"]["FileETag"];
                    "Accept-Ranges": components["headers"]["AcceptRanges"];
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": string;
                };
            };
            /** @description The rest of the file */
            206: {
                headers: {
                    ETag: components["headers"]["FileETag"];
                    "Accept-Ranges": components["headers"]["AcceptRanges"];
                    "Content-Range": components["headers"]["ContentRange"];
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": string;
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            416: components["responses"]["RangeNotSatisfiable"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
        };
    };
}
