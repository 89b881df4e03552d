/**
 * Whether a task that runs every so many minutes is due in a minute of the day. It is counted from midnight, so that a
 * restart changes nothing; the last turn of a day is shorter when the number does not divide it.
 */
export function everyMinutes(minutes: number): (time: { hour: number; min: number }) => boolean {
  return ({ hour, min }) => (hour * 60 + min) % minutes === 0;
}
