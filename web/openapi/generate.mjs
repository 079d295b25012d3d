// Writes src/api/schema.gen.ts from the API's description, which the server's tests keep as a golden
// file. With --check it only compares, and fails when the file is not what it would write.
import { readFileSync, writeFileSync } from 'node:fs';

const source = new URL('../../server/testdata/openapi.json', import.meta.url);
const target = new URL('../src/api/schema.gen.ts', import.meta.url);
const doc = JSON.parse(readFileSync(source, 'utf8'));

const key = (name) => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name));
const refName = (ref) => ref.split('/').at(-1);
const comment = (text, pad) =>
  text ? `${pad}/** ${text.replaceAll('*/', '* /').replaceAll('\n', ' ')} */\n` : '';

function typeOf(schema, pad = '') {
  if (schema.$ref) return refName(schema.$ref);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  if (Array.isArray(schema.type)) {
    return schema.type.map((type) => typeOf({ ...schema, type }, pad)).join(' | ');
  }
  switch (schema.type) {
    case 'string':
      return 'string';
    case 'integer':
    case 'number':
      return 'number';
    case 'boolean':
      return 'boolean';
    case 'null':
      return 'null';
    case 'array': {
      const item = typeOf(schema.items ?? {}, pad);
      return item.includes(' ') ? `(${item})[]` : `${item}[]`;
    }
    case 'object':
      return objectOf(schema, pad);
    default:
      return 'unknown';
  }
}

function objectOf(schema, pad) {
  const fields = Object.entries(schema.properties ?? {});
  if (fields.length === 0) {
    const values =
      typeof schema.additionalProperties === 'object' ? typeOf(schema.additionalProperties, pad) : 'unknown';
    return `Record<string, ${values}>`;
  }
  const required = new Set(schema.required ?? []);
  const lines = fields.map(([name, field]) => {
    const type = typeOf(field, `${pad}  `);
    return `${comment(field.description, `${pad}  `)}${pad}  ${key(name)}${required.has(name) ? '' : '?'}: ${type};\n`;
  });
  return `{\n${lines.join('')}${pad}}`;
}

const parametersOf = (operation, place) => {
  const list = (operation.parameters ?? []).filter((parameter) => parameter.in === place);
  if (list.length === 0) return 'undefined';
  const fields = list.map((p) => `${key(p.name)}${p.required ? '' : '?'}: ${typeOf(p.schema)}`);
  return `{ ${fields.join('; ')} }`;
};

function answerOf(operation) {
  const [, response] = Object.entries(operation.responses).find(([status]) => status.startsWith('2')) ?? [];
  const schema = response?.content?.['application/json']?.schema;
  return schema ? typeOf(schema) : 'undefined';
}

let out =
  "// Written by openapi/generate.mjs from the API's description. Do not edit: `npm run types` makes it anew.\n\n";
for (const [name, schema] of Object.entries(doc.components.schemas).sort(([a], [b]) => a.localeCompare(b))) {
  out += `${comment(schema.description, '')}export interface ${name} ${objectOf(schema, '')}\n\n`;
}
out +=
  '/** Operations is every call of the API, by method and path below /api/v1. */\nexport interface Operations {\n';
for (const [path, methods] of Object.entries(doc.paths)) {
  for (const [method, operation] of Object.entries(methods)) {
    const body = operation.requestBody?.content?.['application/json']?.schema;
    out += `${comment(operation.summary, '  ')}  '${method.toUpperCase()} ${path}': {\n`;
    out += `    path: ${parametersOf(operation, 'path')};\n    query: ${parametersOf(operation, 'query')};\n`;
    out += `    body: ${body ? typeOf(body) : 'undefined'};\n    answer: ${answerOf(operation)};\n  };\n`;
  }
}
out += '}\n';

if (process.argv.includes('--check')) {
  if (readFileSync(target, 'utf8') !== out) {
    process.stderr.write('src/api/schema.gen.ts is not what the API says; `npm run types` writes it anew\n');
    process.exit(1);
  }
} else {
  writeFileSync(target, out);
}
