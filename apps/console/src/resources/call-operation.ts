import type { ApiClient } from "@kule/contract/client";
import { operations } from "@kule/contract/generated/operations";
import type { OperationId } from "@kule/contract/schemas";
import { read, readOrNull } from "../api.ts";
import type { CalledOperation } from "../api-operation.ts";
import type { AnyItem, Resource } from "./resource.ts";

type Answer<Data> = { readonly data?: Data; readonly error?: unknown; readonly response: Response };

/** The client's answer for an operation that is known at compile time. */
type AnyCall = (method: string, path: string, options: object) => Promise<Answer<unknown>>;

/**
 * Calls an operation that a resource names. Method and path come from the contract; the caller knows the type of the
 * answer.
 *
 * @param key the Idempotency-Key; reads have none
 */
export function callOperation<Data>(
  api: ApiClient,
  called: CalledOperation & { readonly operation: OperationId },
  key?: string,
): Promise<Answer<Data>> {
  const { method, path } = operations[called.operation];
  // The client's types require the operation as a constant.
  const request = api.request as unknown as AnyCall;
  return request(method, path, {
    params: {
      path: called.path ?? {},
      ...(called.query === undefined ? {} : { query: Object.fromEntries(new URLSearchParams(called.query)) }),
      ...(key === undefined ? {} : { header: { "Idempotency-Key": key } }),
    },
    ...(called.body === undefined ? {} : { body: called.body }),
  }) as Promise<Answer<Data>>;
}

/**
 * One resource, by the ids in its address.
 *
 * @throws SessionEnded, ApiAway, ApiRefused
 */
export function readItem<Item extends AnyItem>(
  api: ApiClient,
  resource: Resource<Item>,
  ids: Readonly<Record<string, string>>,
): Promise<Item> {
  return read(callOperation<Item>(api, { operation: resource.operations.get, path: ids }));
}

/**
 * One resource without a parent, by its id; null when the session sees none with this id.
 *
 * @throws SessionEnded, ApiAway, ApiRefused for anything else
 */
export function readItemOrNull<Item extends AnyItem>(
  api: ApiClient,
  resource: Resource<Item>,
  id: string,
): Promise<Item | null> {
  const { get } = resource.operations;
  const [name = ""] = operations[get].pathParameters;
  return readOrNull(callOperation<Item>(api, { operation: get, path: { [name]: id } }));
}
