// Just enough Lua to run the program's own scripts on the simulated state server: each is translated to JavaScript.

type Value = unknown;
type Call = (...args: Value[]) => Value;

const TOKEN =
  /\s+|--[^\n]*|(\d+(?:\.\d+)?)|('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|([A-Za-z_]\w*)|(\.\.|==|~=|<=|>=|[-+*/%#<>=(){}[\],.;:])/y;
const BINARY: readonly (readonly string[])[] = [
  ['or'],
  ['and'],
  ['<', '>', '<=', '>=', '~=', '=='],
  ['..'],
  ['+', '-'],
  ['*', '/', '%'],
];
const ENDS = new Set(['end', 'else', 'elseif', 'until', '']);

/** The values of `unpack`: all of them if it is the last expression of a list, otherwise only the first. */
class Many extends Array<Value> {}

/** Helpers of the translated code. */
const support = {
  truth: (value: Value): boolean => value !== undefined && value !== null && value !== false,
  all: (values: Value[]): Value[] => {
    if (!values.some((value) => value instanceof Many)) return values;
    return values.flatMap((value, at) =>
      value instanceof Many ? (at === values.length - 1 ? [...value] : [value[0]]) : [value],
    );
  },
  get: (table: Value, key: Value): Value =>
    (table as Record<string, Value>)[typeof key === 'number' ? key - 1 : String(key)],
  set: (table: Value, key: Value, value: Value): void => {
    (table as Record<string, Value>)[typeof key === 'number' ? key - 1 : String(key)] = value;
  },
  size: (value: Value): number => (value as { length: number }).length,
  join: (a: Value, b: Value): string => String(a) + String(b),
};

const LIBRARY: Readonly<Record<string, Value>> = {
  unpack: (table: Value[], from = 1, to = table.length): Many =>
    Many.from({ length: Math.max(0, to - from + 1) }, (_, at) => table[from - 1 + at]) as Many,
  tonumber: (value: Value) =>
    value === undefined || value === false || Number.isNaN(Number(value)) ? undefined : Number(value),
  tostring: String,
  ipairs: (table: Value[]) => table.map((value, at) => [at + 1, value]),
  pairs: (table: object) =>
    Object.entries(table).map(([key, value]) => (Array.isArray(table) ? [Number(key) + 1, value] : [key, value])),
  math: { floor: Math.floor, max: Math.max, min: Math.min, ceil: Math.ceil },
  string: {
    format: (_: string, value: Value) => String(Math.round(Number(value))),
    sub: (text: string, from: number, to?: number) => text.slice(from - 1, to),
    find: (text: string, part: string) => (text.includes(part) ? text.indexOf(part) + 1 : undefined),
  },
  table: { insert: (table: Value[], value: Value) => void table.push(value), getn: (table: Value[]) => table.length },
  cjson: { decode: (text: string) => JSON.parse(text), encode: JSON.stringify },
};

/** Translates a script to a function that runs it. */
export function compileLua(text: string): (keys: readonly string[], args: readonly string[], call: Call) => Value {
  const body = new Translator(text).block();
  const names = [...Object.keys(support), ...Object.keys(LIBRARY)];
  const run = new Function(...names, 'KEYS', 'ARGV', 'redis', body) as Call;
  const values = [...Object.values(support), ...Object.values(LIBRARY)];
  return (keys, args, call) => run(...values, [...keys], [...args], { call });
}

class Translator {
  readonly #tokens: string[] = [];
  #at = 0;

  constructor(text: string) {
    TOKEN.lastIndex = 0;
    while (TOKEN.lastIndex < text.length) {
      const at = TOKEN.lastIndex;
      const found = TOKEN.exec(text);
      if (!found) throw new SyntaxError(`Lua: ${text.slice(at, at + 30)}`);
      const token = found[1] ?? found[2] ?? found[3] ?? found[4];
      if (token !== undefined) this.#tokens.push(token);
    }
  }

  block(): string {
    let code = '';
    while (!ENDS.has(this.#next)) code += this.#statement();
    return code;
  }

  get #next(): string {
    return this.#tokens[this.#at] ?? '';
  }

  #take(): string {
    return this.#tokens[this.#at++] ?? '';
  }

  #has(token: string): boolean {
    if (this.#next !== token) return false;
    this.#at++;
    return true;
  }

  #expect(token: string): void {
    if (!this.#has(token)) throw new SyntaxError(`Lua: expected ${token}, found ${this.#next}`);
  }

  #statement(): string {
    if (this.#has(';')) return '';
    if (this.#has('local')) return this.#local();
    if (this.#has('return')) return `return ${ENDS.has(this.#next) ? 'undefined' : this.#expression()};\n`;
    if (this.#has('break')) return 'break;\n';
    if (this.#has('if')) return this.#condition();
    if (this.#has('for')) return this.#loop();
    if (this.#has('while')) {
      const test = this.#expression();
      return `while (truth(${test})) {${this.#body()}}\n`;
    }
    const target = this.#postfix();
    const targets = [target];
    while (this.#has(',')) targets.push(this.#postfix());
    if (!this.#has('=')) return `${target};\n`;
    const values = `all([${this.#list()}])`;
    if (targets.length === 1) return `${assign(target, `${values}[0]`)};\n`;
    return `{const values = ${values}; ${targets.map((one, at) => assign(one, `values[${at}]`)).join('; ')};}\n`;
  }

  #body(): string {
    this.#expect('do');
    const code = this.block();
    this.#expect('end');
    return code;
  }

  #local(): string {
    if (this.#has('function')) {
      const name = this.#take();
      this.#expect('(');
      const parameters = this.#names(')');
      const code = this.block();
      this.#expect('end');
      return `const ${name} = (${parameters}) => {${code}};\n`;
    }
    const names = this.#names();
    if (!this.#has('=')) return `let ${names};\n`;
    return `let [${names}] = all([${this.#list()}]);\n`;
  }

  #names(end?: string): string {
    const names: string[] = [];
    if (end === undefined || this.#next !== end)
      do names.push(this.#take());
      while (this.#has(','));
    if (end !== undefined) this.#expect(end);
    return names.join(', ');
  }

  #condition(): string {
    const test = this.#expression();
    this.#expect('then');
    let code = `if (truth(${test})) {${this.block()}}`;
    if (this.#has('elseif')) return `${code} else ${this.#condition()}`;
    if (this.#has('else')) code += ` else {${this.block()}}`;
    this.#expect('end');
    return `${code}\n`;
  }

  #loop(): string {
    const names = this.#names();
    if (this.#has('in')) return `for (const [${names}] of ${this.#expression()}) {${this.#body()}}\n`;
    this.#expect('=');
    const from = this.#expression();
    this.#expect(',');
    const to = this.#expression();
    const by = this.#has(',') ? this.#expression() : '1';
    return `for (let ${names} = ${from}; ${by} > 0 ? ${names} <= ${to} : ${names} >= ${to}; ${names} += ${by}) {${this.#body()}}\n`;
  }

  #list(): string {
    const expressions = [this.#expression()];
    while (this.#has(',')) expressions.push(this.#expression());
    return expressions.join(', ');
  }

  #expression(level = 0): string {
    const operators = BINARY[level];
    if (!operators) return this.#unary();
    let left = this.#expression(level + 1);
    while (operators.includes(this.#next)) {
      const operator = this.#take();
      const right = this.#expression(level + 1);
      if (operator === 'and') left = `((value) => truth(value) ? ${right} : value)(${left})`;
      else if (operator === 'or') left = `((value) => truth(value) ? value : ${right})(${left})`;
      else if (operator === '..') left = `join(${left}, ${right})`;
      else if (/^[-+*/%]$/.test(operator)) left = `(Number(${left}) ${operator} Number(${right}))`;
      else
        left = `(${left} ${({ '==': '===', '~=': '!==' } as Record<string, string>)[operator] ?? operator} ${right})`;
    }
    return left;
  }

  #unary(): string {
    if (this.#has('not')) return `!truth(${this.#unary()})`;
    if (this.#has('#')) return `size(${this.#unary()})`;
    if (this.#has('-')) return `-(${this.#unary()})`;
    return this.#postfix();
  }

  #postfix(): string {
    let code = this.#primary();
    for (;;) {
      if (this.#has('.')) code = `get(${code}, "${this.#take()}")`;
      else if (this.#has('[')) {
        code = `get(${code}, ${this.#expression()})`;
        this.#expect(']');
      } else if (this.#has('(')) {
        const list = this.#next === ')' ? '' : this.#list();
        this.#expect(')');
        code = `${code}(...all([${list}]))`;
      } else return code;
    }
  }

  #primary(): string {
    const token = this.#take();
    if (token === 'nil') return 'undefined';
    if (token === '(') {
      const inner = this.#expression();
      this.#expect(')');
      return `(${inner})`;
    }
    if (token !== '{') return token;
    if (this.#has('}')) return '[]';
    const list = this.#list();
    this.#expect('}');
    return `all([${list}])`;
  }
}

// Turns a `get(a, b)` on the left of an assignment into a `set`.
function assign(target: string, value: string): string {
  return target.startsWith('get(') ? `set(${target.slice(4, -1)}, ${value})` : `${target} = ${value}`;
}
