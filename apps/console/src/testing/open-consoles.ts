import type { SceneApi } from "./scene-api.ts";

/**
 * The console session is open, as when a browser has presented its ticket and the region's agent has connected: the
 * scenes serve no websockets. A process that is present holds its socket.
 */
export async function openConsole(
  api: SceneApi,
  sessionId: string,
  { bytesIn, bytesOut }: { readonly bytesIn: number; readonly bytesOut: number },
): Promise<void> {
  await api.sql(
    `with held as (
       insert into replica (id, address, secret, seen_at)
       values ('rep_of_test', 'http://127.0.0.1:1', 'secret', clock_timestamp() + interval '1 day')
       on conflict (id) do update set seen_at = excluded.seen_at returning id
     )
     update console_session
        set state = 'open', ticket_hash = null, replica_id = (select id from held), bytes_in = $2, bytes_out = $3,
            redeemed_at = clock_timestamp(), claimed_at = clock_timestamp(), opened_at = clock_timestamp(),
            last_input_at = clock_timestamp()
      where id = $1`,
    [sessionId, bytesIn, bytesOut],
  );
}
