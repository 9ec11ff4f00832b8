/** The types of getstep.mjs. */

/** board[row][column], row 0 at the top. It is a copy, which your function may change. */
export type Board = number[][];

/** A row and a column, counted from 0. */
export type Square = [row: number, column: number];

/** A move: a square, a path of hop, or a domino of linkage. */
export type Move = Square | Square[] | [colour: "R" | "B" | "G" | "Y", first: Square, second: Square];

/** More about the turn: the third argument of your function. */
export interface Turn {
  /** The game's name, such as "hop". */
  game: string;
  /** The match number. */
  match: number;
  /** 1 for the match's first turn; both players' turns count. */
  moveNumber: number;
  /** The other team's name. */
  opponent: string;
  /** The opponent's last move, in the form in which you return yours; null if there was none. */
  lastMove: Move | null;
  /** Milliseconds for this move; if the limit is for all your moves together, the rest of it. */
  timeLeftMs: number;
  /** The game's options, such as { size: 8 }. */
  options: Record<string, number>;
  /** Milliseconds that are added to such a limit after each turn that was answered in time; 0 if none are. */
  incrementMs: number;
}

/** Your function. It may also return a promise, but while a synchronous one thinks, the connection is served as well. */
export type GetStep = (board: Board, isBlack: boolean, turn: Turn) => AnyMove | Promise<AnyMove>;

/** What `getStep` may return: a move, also if the compiler only knows that it is an array. */
export type AnyMove = Move | readonly (number | string | readonly number[])[];

/** What the command line does not say. */
export interface Settings {
  host?: string;
  port?: number | string;
  team?: number | string;
  token?: string;
  /** A text file that holds the token alone. */
  tokenFile?: string;
  /** Print problems only. */
  quiet?: boolean;
  /** Play friendly matches, which count nowhere. */
  friendly?: boolean;
  /** The games that the bot plays. It gives up each match of another game, and plays the next ones. */
  games?: string[];
  /** Start the function again if it has not returned so many seconds after its limit: 10, or what GETSTEP_RESTART_AFTER
   *  says; 0: never. */
  restartAfter?: number | string;
  /** The arguments in place of those of the command line. */
  args?: string[];
}

/**
 * Play in a contest until it is over. The exit code is 0 if it is over, 1 if the server refused, 2 for wrong usage; it
 * is also that of the process.
 */
export function play(getStep: GetStep, settings?: Settings): Promise<number>;

export const VERSION: string;
