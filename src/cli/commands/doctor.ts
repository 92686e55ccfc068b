// `petstore doctor`: runs its checks in order; the exit code is that of the first failed check.
import { PetstoreError } from '../../errors.ts';
import type { Action } from '../command.ts';
import { actionHandler, loadPrinter, PetstoreCommand, rootOf } from '../command.ts';
import type { Column, View } from '../output/view.ts';
import { READ_ERRORS } from '../reference.ts';
import type { CheckResult } from './doctor-request.ts';

interface Check extends CheckResult {
  readonly id: string;
  readonly label: string;
}

const COLORS = { ok: 'green', warning: 'yellow', failed: 'red', skipped: 'dim' } as const;

// Each row is printed alone, so status and label are padded to the longest of all rows.
const COLUMNS: readonly Column<Check>[] = [
  { header: 'status', value: ({ status }) => status.padEnd(7), paint: ({ status }, style) => style[COLORS[status]] },
  { header: 'check', value: ({ label }) => label.padEnd(12) },
  { header: 'detail', value: ({ detail, hint }) => `${detail}${hint ? `\nhint: ${hint}` : ''}`, wrap: true },
];

const rowView: View<Check> = {
  *text(check, { table }) {
    const [headings = '', ...row] = table(COLUMNS, [check]);
    if (check.id === 'petstore') yield headings;
    yield* row;
  },
  tables: true,
};

const doctorAction: Action<object, readonly Check[]> = {
  async run(session) {
    const print = session.options.json ? undefined : await loadPrinter(session, rowView);
    const checks: Check[] = [];
    const { checkDefinitions, runCheck } = await import('./doctor-checks.ts');
    const { notChecked } = await import('./doctor-request.ts');
    /** By the label of a check that failed or was skipped: the failed check that caused this. */
    const causes = new Map<string, string>();
    for (const { label, test, needs = [] } of checkDefinitions(session)) {
      const cause = needs.map((one) => causes.get(one)).find((one) => one !== undefined);
      const result = cause === undefined ? await runCheck(test, session) : notChecked(`"${cause}" failed`);
      if (cause !== undefined || result.failure) causes.set(label, cause ?? label);
      const check: Check = { id: label.toLowerCase().replace(' ', '_'), label, ...result };
      checks.push(check);
      // Print each row now, because a later check may take a long time.
      await print?.(check);
    }
    return checks;
  },
  view: {
    // The error only counts the failures: each row has shown its own, with a hint.
    failure(checks) {
      const failed = checks.filter(({ failure }) => failure);
      const first = failed[0]?.failure;
      const names = failed.map(({ label }) => label).join(', ');
      const message = `${failed.length} of ${checks.length} checks failed: ${names}`;
      return first && new PetstoreError(first.kind, message);
    },
    json: (checks) => checks.map(({ failure: _, ...result }) => result),
    text: () => [],
  },
};

export const doctor = (): PetstoreCommand =>
  new PetstoreCommand('doctor')
    .description('diagnose problems and suggest fixes')
    .sections({
      notes: `This command shows the versions of petstore and Node.js, and checks the config and state directories (readable,
private, writable), the profile, its base URL, the proxy, the connection (DNS, TCP and TLS), the service (one GET /categories),
the API key, the clock, and the state server if one is configured. A check that depends on a failed one or would wait
for the rate limit is skipped. The exit code is that of the first failed check.`,
      output: `one row per check; with --json an array of {"id", "label", "status", "detail", "hint"}. Status is ok, warning,
failed or skipped; ids are petstore, node, config, state, state_server, profile, base_url, proxy, connection, service,
api_key and clock.`,
      // `doctor` never waits for the rate limit.
      exitCodes: READ_ERRORS.filter((kind) => kind !== 'rate_limited'),
      examples: ['petstore doctor', 'petstore doctor -p staging', `petstore doctor --json | jq -r '.[].hint // empty'`],
    })
    // A check is a single attempt without a wait.
    .hook('preAction', (_doctor, command) => {
      rootOf(command).setOptionValue('maxRetries', '0').setOptionValue('maxWait', '0');
    })
    .action(actionHandler(async () => doctorAction));
