// The manual page, petstore(1), from what `petstore commands --json` prints (man(7) macros). Called by the build.

/** Returns the page's source; the same for the same reference, so that builds can be repeated. */
export function manPage(reference) {
  return [
    `.TH PETSTORE 1 "" "petstore ${reference.version}" "User Commands"`,
    '.SH NAME',
    `petstore \\- ${text(reference.description.replace(/\.$/, ''))}`,
    '.SH SYNOPSIS',
    '.B petstore',
    '.I command',
    '.RI [ options ]',
    '.SH DESCRIPTION',
    ...paragraphs(reference.notes),
    '.SH COMMANDS',
    ...reference.commands.flatMap(section),
    '.SH OPTIONS OF EVERY COMMAND',
    ...reference.globalOptions.flatMap(term('.B', ({ flags }) => flags)),
    '.SH ENVIRONMENT',
    ...reference.environment.flatMap(({ name, meaning }) => ['.TP', `.B ${text(name)}`, text(meaning)]),
    '.SH EXIT STATUS',
    ...reference.exitCodes.flatMap(({ code, kind, meaning }) => [
      '.TP',
      `.B ${code}`,
      text(kind ? `${meaning} (${kind})` : meaning),
    ]),
    '.SH EXAMPLES',
    ...examples(reference.examples),
    '',
  ].join('\n');
}

function section(command) {
  return [
    `.SS ${text(command.usage)}`,
    ...paragraphs(`${command.description}.`),
    ...command.arguments.flatMap(term('.I', ({ name }) => name)),
    ...command.options.flatMap(term('.B', ({ flags }) => flags)),
    ...(command.notes ? ['.PP', ...paragraphs(command.notes)] : []),
    ...(command.examples.length > 0 ? ['.PP', 'Examples:', ...examples(command.examples)] : []),
  ];
}

function term(macro, name) {
  return (one) => ['.TP', `${macro} ${text(name(one))}`, text(explained(one))];
}

/** A description, with what else is known of an option or argument in brackets. */
export function explained({ description, required, choices, default: value }) {
  const facts = [
    ...(required ? ['required'] : []),
    ...(choices ? [choices.join(', ')] : []),
    ...(value === undefined ? [] : [`default: ${value}`]),
  ];
  return facts.length === 0 ? description : `${description} (${facts.join('; ')})`;
}

function examples(lines) {
  return lines.length === 0 ? [] : ['.PP', '.nf', '.RS', ...lines.map(text), '.RE', '.fi'];
}

// Paragraphs are filled by the formatter; those with indented lines are kept as they are.
function paragraphs(notes) {
  return notes.split(/\n{2,}/).flatMap((part, at) => {
    const lines = part.split('\n').map(text);
    const body = /^\s/m.test(part) ? ['.nf', ...lines, '.fi'] : lines;
    return at === 0 ? body : ['.PP', ...body];
  });
}

// roff reads a backslash, and a dot or quote at the start of a line; a hyphen that can be copied is \-.
function text(raw) {
  return raw
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replace(/^([.'])/, '\\&$1')
    .replace(/[^\x20-\x7e]/g, (char) => `\\[u${char.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}]`);
}
