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
  /** The moves that the server has played from the start of the game before it asked anybody, for both players in turn;
   *  usually there are none. */
  opening: Move[];
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
  /** Connect with TLS, and check the certificate of the host. */
  tls?: boolean;
  /** Connect with TLS; the certificate has the key with this SHA-256, in hexadecimal digits. */
  tlsPin?: string;
  /** The arguments in place of those of the command line. */
  args?: string[];
}

/**
 * Play in a contest until it is over. The exit code is 0 if it is over, 1 if the server refused, 2 for wrong usage; it
 * is also that of the process.
 */
export function play(getStep: GetStep, settings?: Settings): Promise<number>;

/** A name in the palette of the boards. */
export type Color = "black" | "white" | "blue" | "orange" | "red" | "green" | "yellow" | "purple" | "grey";

/** How `draw` draws. */
export interface Drawing {
  /** A text of at most 8 characters, or a number. */
  label?: string | number | null;
  /** By default that of the bot's own side. */
  color?: Color | null;
  /** "mark" (the default) or "region"; "arrow" along 2 to 16 squares, or "domino" on 2. */
  shape?: "mark" | "arrow" | "region" | "domino";
}

// Notes of a move: what the bot thinks, for its author and the replay. They cost microseconds and never a turn; what is
// wrong or too much is dropped, and the terminal says so once. Call them in the thread of getStep, while it computes.

/** Say something about the move; several texts are put below each other: at most 1,000 characters. */
export function say(text: string): void;

/** Say how likely this bot wins, from -1 (it loses) to 1 (it wins). The last call for a move counts. */
export function estimate(value: number): void;

/** Draw on the board of the replay: on a square, or on up to 64; at most 64 times for a move. */
export function draw(squares: Square | readonly Square[] | readonly (readonly number[])[], options?: Drawing): void;

/** Tag the match with a word of at most 24 characters, such as the name of an opening: at most 8 for a move. */
export function tag(word: string): void;

export const VERSION: string;
