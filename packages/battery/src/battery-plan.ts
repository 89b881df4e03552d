/**
 * The rows of the battery's plan that Kule has the resources for. A row that is named here and does not exist
 * fails the tests, so that none is dropped unnoticed. Rows that need a second installation are added
 * with it.
 */
export const PLANNED_ROWS: readonly string[] = [
  ...["A1", "A2", "A3", "A5", "A6", "A7", "A8", "A9", "A10", "A11", "A12", "A13", "A14", "A15", "A16", "A17"],
  "A19",
  "A20",
  "A21",
  "A22",
  "A23",
  ...["B1", "B2", "B3", "B5", "B6", "B7", "B8", "B9", "B10", "B11"],
  ...["C1", "C2", "C3", "C4", "C5", "C6", "C7", "C8", "C9", "C10", "C11", "C12", "C14", "C15"],
  ...["D1", "D2", "D5", "D6", "D7", "D8", "D9", "D11", "D15", "D16", "D17"],
  ...["E1", "E3", "E4", "E6", "E10", "E11"],
  ...["G1", "G2", "G3", "G4"],
  ...["H1", "H2", "H4"],
];
