import { CreateFrame } from "../../layout/create-frame.tsx";
import { RoleGuide } from "../members/roles-panel.tsx";
import { CreateToken } from "./create-form.tsx";
import type { TokenCreatePageProps } from "./props.ts";

/** Creates a token; the list then shows its secret once. */
export function TokenCreatePage(props: TokenCreatePageProps) {
  const { view, banner } = props;
  const text = view.messages.tokens;
  return (
    <CreateFrame
      view={view}
      section="tokens"
      crumbs={[{ path: "/tokens", text: text.title }]}
      title={text.create}
      banner={banner}
      below={<RoleGuide view={view} />}
    >
      <CreateToken {...props} />
    </CreateFrame>
  );
}
