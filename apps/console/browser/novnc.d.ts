/** The part of noVNC that the panel uses; noVNC has no types. */
declare module "@novnc/novnc" {
  // biome-ignore lint/style/noDefaultExport: noVNC exports it so
  export default class RFB extends EventTarget {
    constructor(target: Element, channel: WebSocket | string, options?: { shared?: boolean });
    scaleViewport: boolean;
    focusOnClick: boolean;
    background: string;
    sendCtrlAltDel(): void;
    sendKey(keysym: number, code: string | null, down?: boolean): void;
    focus(): void;
    disconnect(): void;
  }
}
