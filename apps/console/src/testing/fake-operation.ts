import type { OperationId, Schemas } from "@kule/contract/schemas";

export type Params = { readonly [name: string]: string };

export type Answer = {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
};

export type Operation = <Body>(
  method: "get" | "post" | "put" | "patch" | "delete",
  path: string,
  id: OperationId,
  handler: (call: {
    readonly params: Params;
    readonly query: URLSearchParams;
    readonly body: Body;
    readonly fail: (
      status: number,
      code: Schemas["ErrorCode"],
      detail: string,
      more?: Partial<Schemas["Problem"]>,
    ) => Answer;
    readonly token: string;
    readonly headers: Headers;
  }) => Answer | Promise<Answer>,
  open?: boolean,
) => void;
