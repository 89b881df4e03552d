import { connect } from "node:net";

/** True when the address answers an HTTP request without a server error. */
export async function answersHttp(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2_000), redirect: "manual" });
    await response.body?.cancel();
    return response.status < 500;
  } catch {
    return false;
  }
}

/** True when the API's readiness misses nothing that the installation needs. */
export async function lacksNothing(readinessUrl: string): Promise<boolean> {
  try {
    const response = await fetch(readinessUrl, { signal: AbortSignal.timeout(2_000) });
    const readiness = (await response.json()) as { readonly missing?: readonly object[] };
    return response.ok && readiness.missing?.length === 0;
  } catch {
    return false;
  }
}

/** True when the region at the address has reported an edge. */
export async function hasEdge(url: string, operatorToken: string): Promise<boolean> {
  try {
    const response = await fetch(url, {
      signal: AbortSignal.timeout(2_000),
      headers: { authorization: `Bearer ${operatorToken}` },
    });
    const region = (await response.json()) as { readonly edge?: object | null };
    return response.ok && region.edge != null;
  } catch {
    return false;
  }
}

/** True when something accepts TCP connections on this port of 127.0.0.1. */
export function acceptsConnections(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1", timeout: 2_000 });
    const settle = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once("connect", () => settle(true));
    socket.once("error", () => settle(false));
    socket.once("timeout", () => settle(false));
  });
}
