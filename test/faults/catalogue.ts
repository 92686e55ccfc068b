// The 123 faults that this program must withstand, by number, each with the tests that hold it, or the reason why there is none.

/** A fault's row. */
export interface Row {
  /** What goes wrong, in short. */
  readonly fault: string;
  /** Test titles as they stand in the source, each after its file: `file: title`. */
  readonly tests: readonly string[];
  /** Why there is no test. */
  readonly reason?: string;
}

const row = (fault: string, ...tests: string[]): Row => ({ fault, tests });
const none = (fault: string, reason: string): Row => ({ fault, tests: [], reason });

const F = 'faults/';
const every = `${F}transport.test.ts: create sends one POST`;
const secrets = `${F}secrets.test.ts`;
const streams = `${F}streams.test.ts`;
const around = `${F}environment.test.ts`;
const source = `${F}catalogue.test.ts`;
const fuzz = `${F}fuzz.test.ts`;
const store = 'profiles/conf-store.test.ts';
const files = 'profiles/private-file.test.ts';
const processes = 'profiles/processes.test.ts';
const auth = 'auth/auth.test.ts';
const send = 'http/send.test.ts';
const transport = 'http/transport.test.ts';
const rows = 'import/rows.test.ts';
const imported = 'import/program.test.ts';

/** Every row of section 1, by its ID. A fault on the wire is an entry of `transport-faults.ts`, met by five commands. */
export const CATALOGUE: Readonly<Record<string, Row>> = {
  A1: row('key as a flag value', `${auth}: no option takes a key, and one that was typed is not repeated`),
  A2: row(
    'key typed in the wrong place',
    `${secrets}: a key typed in the wrong place is not repeated`,
    'usage.test.ts: the key-shaped word %s is not repeated',
  ),
  A3: row(
    'malformed key',
    'profiles/key.test.ts: the key %j is refused in words that do not show it',
    `${secrets}: a malformed key (%j) is refused and shown nowhere`,
  ),
  A4: row(
    'empty key',
    'profiles/credentials.test.ts: the key %j in the environment is an error, and the stored one is not used instead',
  ),
  A5: row(
    'another base URL than the stored key is for',
    'profiles/credentials.test.ts: a stored key does not go to %s',
    `${auth}: is not sent to another origin: exit 3 and nothing is sent`,
  ),
  A6: row('api path that leaves the origin', `${fuzz}: 100,000 odd paths never lead out of the base URL`),
  A7: row('redirect', every, `${F}transport.test.ts: nothing is sent where a redirect points, neither key nor body`),
  A8: row('http that is not loopback', 'profiles/base-url.test.ts: %j is refused'),
  A9: row('proxy', 'http/proxy.test.ts: %s with %j goes through %s', `${secrets}: the proxy password is told nowhere`),
  A10: row('bad certificate', `${around}: a certificate nobody vouches for gets no key, whatever the shell says (%j)`),
  A11: row(
    'NODE_TLS_REJECT_UNAUTHORIZED=0',
    `${around}: a certificate nobody vouches for gets no key, whatever the shell says (%j)`,
  ),
  A12: row(
    'verbose and debug traces',
    `${secrets}: told with --verbose, the fault "%s" holds no key`,
    `${secrets}: Node's own traces and diagnostic report hold no key`,
  ),
  A13: row('crash', 'report.test.ts: a foreign error is a fault of ours: its message, which may quote data, stays out'),
  A14: row(
    'diagnostic report',
    `${secrets}: Node's own traces and diagnostic report hold no key`,
    `${secrets}: the key is in no argument of any process`,
  ),
  A15: row('child process', `${source}: the program starts no other program, so none can inherit a key`),
  A16: row(
    'auth status',
    `${auth}: a short key is not shown at all`,
    `${auth}: shows every profile, which is active, its URL and its masked key`,
  ),
  A17: row(
    'logout',
    `${secrets}: a stored key is in its own file and in no other, through login, list, failure, status and logout`,
    `${auth}: forgets the key and keeps the URL, and says so again where there is none`,
  ),
  A18: row(
    'logout with an unreadable file',
    `${auth}: --all works without reading, also where files are damaged or the environment still has a key`,
  ),
  A19: row(
    'key file others can read or own',
    `${store}: a file that others could read is private after it was read, and the folder after a write`,
    `${files}: another user's file is not read, and not written over`,
  ),
  A20: row(
    'config is a link',
    `${files}: a link to where others can write is refused`,
    `${files}: a hard link elsewhere keeps the old text: a write makes a new file`,
  ),
  A21: row(
    'odd profile name',
    'profiles/credentials.test.ts: %j cannot be a profile',
    `${store}: the name %j stores nothing anywhere`,
  ),
  A22: row(
    'unknown profile',
    'profiles/credentials.test.ts: an unknown profile is an error that lists those there are and names the nearest',
  ),
  A23: row(
    '401 in the middle of an import',
    every,
    `${imported}: a key that is not accepted stops at once; the document says that every row is pending`,
  ),
  A24: row('service echoes the key', `${secrets}: a service that answers %s and says the key back`),
  A25: none('keyring locked or absent', 'no keyring is used: keys are in private files (contract, section 4)'),

  B1: row(
    'no connection',
    `${F}transport.test.ts: the connection is refused: a read and a create end with 6`,
    `${send}: a create whose connection was never made is sent again, and gives its tickets back`,
  ),
  B2: row(
    'connect hangs',
    `${around}: a connection that is never made ends with 6 at the deadline, for a create too: nothing was sent`,
  ),
  B3: row('no headers ever', every),
  B4: row('slow headers', every),
  B5: row('body stalls', every),
  B6: row(
    'body dribbles for ever',
    every,
    `${transport}: no answer in time: the deadline holds although single bytes keep coming`,
  ),
  B7: row('endless fast body', every, `${transport}: an endless body is cut off at the limit`),
  B8: row(
    'reset after a POST was sent',
    every,
    `${send}: a create is never sent again once a byte of it may have left`,
  ),
  B9: row(
    'idle connection closed just then',
    every,
    `${transport}: a request carries what the service documents, and one connection each`,
  ),
  B10: row(
    '5xx on a POST',
    every,
    `${send}: a create that met a 500 is not sent again: the reply is the caller’s to judge`,
  ),
  B11: row(
    '429 in all its forms',
    every,
    'http/headers.test.ts: no header text makes a wait that is negative, not a number or endless',
    `${send}: a permitted time beyond --max-wait ends the command at once, nothing more is sent, and the time is told`,
  ),
  B12: row(
    '429 remembered by another process',
    'exit-codes.test.ts: a 429 is remembered: the next process sends nothing',
    'quota/ledger.test.ts: the clock set back by a day stops nobody for a day',
  ),
  B13: row(
    'state file corrupt or unwritable',
    'quota/ledger.test.ts: where nothing can be written one process goes on with its memory, and says so once',
    'quota/ledger.test.ts: torn records and foreign bytes in the file count for nobody',
  ),
  B14: row('body cut short', every),
  B15: row('close-delimited body cut', every),
  B16: row('broken HTTP', every, `${transport}: %s is a failure of the protocol`),
  B17: row('extra response on the connection', every),
  B18: row('compressed although not asked', every, `${transport}: a compressed body is refused: it was not asked for`),
  B19: row(
    'HTTP/2 surprises',
    `${source}: HTTP/2 is off, and no retry, redirect or decompression of the HTTP client is used`,
  ),
  B20: row('localhost is ::1 or 127.0.0.1', 'sandbox/server.test.ts: it listens on 127.0.0.1 and nowhere else'),
  B21: row('HTML, empty body, wrong type', every),
  B22: row(
    'truncated GET resumed by Range',
    `${source}: HTTP/2 is off, and no retry, redirect or decompression of the HTTP client is used`,
  ),
  B23: row('unread body', every),
  B24: row(
    'many parallel requests',
    'quota/simulation.test.ts: 300 requests at once in one process wait in line',
    'import/program.test.ts: killed again and again while answers are lost, an import creates every row exactly once',
  ),
  B25: row('aborted', `${transport}: an interrupted try ends at once`),

  C1: row('not JSON', every, 'api/decode.test.ts: a body that is no JSON is named by its type and never quoted'),
  C2: row('integers beyond 2^53', 'exit-codes.test.ts: the largest id comes through every way unchanged'),
  C3: row('__proto__ in a reply', 'json.test.ts: a field called __proto__ stays a field and changes no prototype'),
  C4: row(
    'nesting',
    every,
    'json.test.ts: nesting is allowed to a depth nobody needs, and refused beyond it before the stack overflows',
  ),
  C5: row(
    'objects where text is expected',
    every,
    `${fuzz}: 30,000 mutated lists are categories or a broken contract, and never anything else`,
  ),
  C6: row(
    'missing and extra fields',
    'api/decode.test.ts: fields that the service adds later are kept, exact numbers and hostile names included',
  ),
  C7: none('pages', 'the service documents no pages (service.md, section 4): there is one list'),
  C8: row(
    'duplicate keys, surrogates, 1e400, -0',
    'json.test.ts: it accepts exactly the documents that the native parser accepts, over 30,000 mixtures of tokens',
  ),
  C9: row('more text than a string holds', `${transport}: an endless body is cut off at the limit`),
  C10: row(
    'huge or odd error body',
    `${fuzz}: 10,000 mutated errors keep the kind that their status gives them`,
    'api/decode.test.ts: an Error body is read as far as it goes',
  ),

  D1: row(
    'escape sequences in names',
    'text.test.ts: 200,000 hostile strings leave the gate without one character that acts on a terminal',
    'output/table.test.ts: a row is one line, and what could act on the terminal is visible',
  ),
  D2: row('8-bit C1', 'text.test.ts: %j is shown as %s'),
  D3: row('bidi and invisible characters', 'text.test.ts: %j is shown as %s'),
  D4: row(
    'line breaks in a cell',
    'output/table.test.ts: a row is one line, and what could act on the terminal is visible',
  ),
  D5: row(
    'the same in errors and arguments',
    'report.test.ts: %s as text is what happened, then what to do',
    "api/failure.test.ts: the service's own code, message and status come along, made safe to show",
  ),
  D6: row('--json to a terminal', 'text.test.ts: JSON for a terminal holds the same value and no character that acts'),
  D7: row('wide characters', 'output/table.test.ts: columns begin at the same cell in every row'),
  D8: row(
    'huge tables and cells',
    'output/table.test.ts: 100,000 rows are laid out, piece by piece',
    'output/table.test.ts: one hostile cell of a million characters is no trouble',
  ),
  D9: row(
    'spinner where there can be none',
    'output/progress.test.ts: %s can show a spinner: %s columns, %o, %s',
    'terminal/screens.test.ts: a terminal that does not know its width gets whole lines and no spinner',
  ),
  D10: row(
    'cursor and mode after death',
    `${streams}: of %ix%i a typed Ctrl-C during a wait ends it, cursor shown and line mode on`,
    'auth/prompt.test.ts: %s at the prompt ends with %i and restores the terminal',
  ),
  D11: row(
    'NO_COLOR and its kin',
    'terminal/screens.test.ts: colour follows each stream: none in a pipe, none with NO_COLOR, some where it is forced',
  ),
  D12: row('output larger than the pipe', `${streams}: whose reader is slow gets every byte`),
  D13: row(
    'reader closes',
    `${streams}: that is closed after the first line ends a list (%s) quietly`,
    `${streams}: an import whose readers are gone goes on to its end`,
  ),
  D14: row(
    'stdout full or closed',
    `${streams}: a stdout that takes nothing is a storage failure: %s`,
    `${streams}: a closed %s is no fault of the program`,
  ),

  E1: row('no regular file', `${rows}: a missing file, a folder and a terminal are refused at once`),
  E2: row('one endless line', `${rows}: %s is refused`),
  E3: row(
    'BOM, UTF-16, invalid UTF-8',
    `${rows}: invalid UTF-8 is named with its lines, and never becomes U+FFFD`,
    `${rows}: %s is read`,
  ),
  E4: row(
    'truncated last record',
    `${rows}: every bad row is named with the line it begins on`,
    'import/command.test.ts: a bad file is exit code 2 before anything is sent or noted, also without a key',
  ),
  E5: row(
    'ragged rows and bad headers',
    `${rows}: of many bad rows twenty are named, then they are counted`,
    `${rows}: %s is refused`,
  ),
  E6: row('line ends and quotes', `${rows}: quotes, line breaks, tabs, lone CRs and emoji survive CSV`),
  E7: row(
    'formula cells',
    'output/delimited.test.ts: any text survives %s, formulas, quotes, blanks and control characters included',
  ),
  E8: row(
    'names twice',
    `${rows}: repeated names are counted`,
    'import/run.test.ts: --skip-existing leaves out names that were there, but not those this import brought there',
  ),
  E9: row(
    'again after an interruption',
    `${imported}: killed again and again while answers are lost, an import creates every row exactly once`,
    'import/run.test.ts: the same import again creates nothing, and looks once whether all is there',
  ),
  E10: row(
    'file changed between runs',
    'import/journal.test.ts: a file that was changed in the middle of its import is noticed, a finished or other one is not',
  ),
  E11: row(
    'stdin is a terminal, closed, empty',
    `${rows}: a missing file, a folder and a terminal are refused at once`,
    `${rows}: %s is refused`,
  ),
  E12: row('odd numbers', 'context.test.ts: %j is refused by name'),
  E13: none(
    'names that begin with -',
    "`--name -x` and `--name=-x` are the option parser's own rule; CSV names that begin with - are data (E7)",
  ),
  E14: row('top level is no array', `${rows}: %s is refused`),
  E15: row(
    'two imports of one file',
    `${imported}: while one run imports, a second one of the same rows says so; SIGTERM ends the first with 143`,
  ),
  E16: none('a million rows', 'too long for the test run: `npm run bench -- import` measures it'),

  F1: row(
    'config damaged',
    `${store}: a file that is damaged (%s) is named with its remedy, never shown, and never changed`,
  ),
  F2: row(
    'config of another shape',
    `${store}: a file that is damaged (%s) is named with its remedy, never shown, and never changed`,
  ),
  F3: row(
    'disk full',
    `${processes}: a key that does not fit on the disk leaves the old one as it was`,
    `${store}: a disk that takes only part of a write is a failure, not success`,
  ),
  F4: row(
    'no rights, read-only',
    `${processes}: a folder that cannot be written is a storage failure, for a user who is bound by rights`,
    `${store}: where %s fails with %s while a key is stored, the old one stays and nothing is left lying about`,
  ),
  F5: row(
    'config unreadable, key in the environment',
    `${auth}: is not looked for where the environment gives key and URL, even if its file is damaged`,
    `${around}: folders that cannot be written or read stop nobody whose key and URL are in the environment`,
  ),
  F6: row(
    'no HOME',
    `${around}: %s: help, version and commands with key and URL in the environment work`,
    `${processes}: storing adds no signal handlers, leaves the environment alone, and needs no HOME`,
  ),
  F7: row(
    'HOME empty or relative',
    'profiles/folders.test.ts: a home of %j is none: nothing goes to the working directory',
    `${around}: %s: help, version and commands with key and URL in the environment work`,
  ),
  F8: row('two processes write', `${processes}: logins to eight profiles at once lose nothing`),
  F9: row(
    'killed in a write',
    `${processes}: a login killed at any moment leaves the old key or the new one, and the next removes its leftovers`,
  ),
  F10: none('stale lock', 'there is no lock: one file per profile, and append-only logs'),
  F11: row(
    'rename refused',
    `${store}: where %s fails with %s while a key is stored, the old one stays and nothing is left lying about`,
  ),
  F12: row('umask and wide folders', `${processes}: under umask %s the file is 0600 and the folder 0700`),
  F13: row(
    'file of a newer version',
    `${store}: a file that is damaged (%s) is named with its remedy, never shown, and never changed`,
  ),

  G1: row('Ctrl-C during a read', `${streams}: %s during a read ends with %i, one line and nothing on stdout`),
  G2: row(
    'Ctrl-C during a POST',
    `${streams}: during a create that gets no answer ends with 130 and says that it may exist`,
    `${streams}: during a create waits for the answer that is on its way`,
  ),
  G3: row(
    'Ctrl-C in an import',
    `${streams}: during an import keeps what was done and ends with 130`,
    `${imported}: Ctrl-C lets the rows under way finish, and prints the command that goes on`,
  ),
  G4: row('second Ctrl-C', `${streams}: a second one ends it at once`),
  G5: row('SIGTERM and SIGHUP', `${streams}: %s during a read ends with %i, one line and nothing on stdout`),
  G6: row(
    'SIGKILL in an import',
    `${imported}: killed again and again while answers are lost, an import creates every row exactly once`,
  ),
  G7: row('promise never settled', `${around}: a promise that is never settled does not end as success`),
  G8: none(
    'Ctrl-Z, SIGUSR1',
    "job control and Node's inspector are left as they are: the terminal is in line mode but for a prompt",
  ),
  G9: row(
    'many commands with one key',
    'quota/ledger.test.ts: six processes at once share one window after the other: no refusal',
  ),

  H1: row('bind address', 'sandbox/server.test.ts: it listens on 127.0.0.1 and nowhere else'),
  H2: row(
    'DNS rebinding, web pages',
    'sandbox/server.test.ts: a foreign Host is refused, so that no web page reaches it by a name of its own',
    'sandbox/server.test.ts: any Origin is refused, and no answer permits one',
  ),
  H3: row(
    'a real key sent to it',
    'sandbox/server.test.ts: it tells of each request with the last four characters of the key, and of no foreign key',
  ),
  H4: row('port busy', 'sandbox/serve.test.ts: a busy port is wrong usage, and it says what to do'),
  H5: row('slow headers, big body', 'sandbox/server.test.ts: a body of %i bytes is answered 413'),
  H6: row(
    'malformed requests',
    'sandbox/malformed.test.ts: ten thousand malformed requests later it is alive, and nothing has changed',
  ),
  H7: row('keys in its files', 'sandbox/server.test.ts: no key is in its files'),
  H8: row('memory and files', 'sandbox/limits.test.ts: the windows of ever so many requests stay a small file'),
  H9: row(
    'end with open connections',
    'sandbox/serve.test.ts: %s ends the built program, with a connection open and an answer owed',
  ),
  H10: row('faults on demand', 'sandbox/faults.test.ts: --fault %s'),
  H11: row(
    'differs from the real service',
    'sandbox/contract.test.ts: every documented response of the sandbox is as documented',
  ),
};
