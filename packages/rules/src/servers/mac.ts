/** Of a server's interfaces the public one is the second: the first is the private one. */
export const publicPosition = 1;

/**
 * The MAC address of a server's interface: locally administered, and unique in a region because the VM number
 * is. One byte distinguishes regions, so that two regions on one cable do not collide before the 256th of
 * them.
 *
 * @param vmid from 100 to 999999999 (30 bits)
 * @param position of the interface, 0 to 3
 */
export function macAddress(regionNumber: number, vmid: number, position: number): string {
  const low = vmid * 4 + position;
  const bytes = [0x0a, regionNumber % 256, low / 2 ** 24, low / 2 ** 16, low / 2 ** 8, low];
  return bytes.map((byte) => (Math.floor(byte) % 256).toString(16).padStart(2, "0")).join(":");
}
