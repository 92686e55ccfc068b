// The service as an OpenAPI 3.1 document, written from service.md alone: what it leaves open is left open here.
import type { Markers, OperationName } from './routes.ts';

/** A JSON value that describes something. */
type Description = Readonly<Record<string, unknown>>;

const ref = (path: string): Description => ({ $ref: `#/components/${path}` });

// service.md, section 8: every API response carries these.
const LIMIT_HEADERS = {
  'X-RateLimit-Limit': ref('headers/Limit'),
  'X-RateLimit-Remaining': ref('headers/Remaining'),
  'X-RateLimit-Reset': ref('headers/Reset'),
};

const response = (description: string, schema?: Description): Description => ({
  description,
  headers: LIMIT_HEADERS,
  ...(schema ? { content: { 'application/json': { schema } } } : {}),
});

const ERROR = ref('schemas/Error');
const UNAUTHORIZED = ref('responses/Unauthorized');
const TOO_MANY = ref('responses/TooManyRequests');
const PET_ID = { name: 'petId', in: 'path', required: true, schema: { type: 'string' } };

const SCHEMAS: Description = {
  Category: {
    type: 'object',
    required: ['id', 'name'],
    properties: {
      id: { type: 'integer', format: 'int64', description: 'Unique identifier assigned by the service on creation.' },
      name: { type: 'string', description: 'Category name (for example a species name).' },
      description: { type: 'string', description: 'Short description of the category.' },
    },
  },
  NewCategory: {
    type: 'object',
    required: ['name'],
    properties: {
      name: { type: 'string', description: 'Category name.' },
      description: { type: 'string', description: 'Short description.' },
    },
  },
  Error: {
    type: 'object',
    required: ['code', 'message', 'status'],
    properties: {
      code: { type: 'string', description: 'Machine-readable error code.' },
      message: { type: 'string', description: 'Human-readable description.' },
      status: { type: 'integer', description: 'The HTTP status code.' },
    },
  },
};

const integer = (description: string): Description => ({ description, required: true, schema: { type: 'integer' } });

const COMPONENTS: Description = {
  schemas: SCHEMAS,
  headers: {
    Limit: integer('The limit that applies to the caller.'),
    Remaining: integer('Requests left in the current window.'),
    Reset: integer('Unix timestamp at which the limit resets.'),
  },
  responses: {
    Unauthorized: response('Missing or invalid API key.', ERROR),
    TooManyRequests: {
      description: 'Rate limit exceeded. The shape of the body is not shown.',
      // Unit and format are not shown: any text will do.
      headers: {
        ...LIMIT_HEADERS,
        'Retry-After': { description: 'How long to wait before retrying.', schema: { type: 'string' } },
      },
    },
    NotShown: response('Behaviour and payload are not shown.'),
  },
  securitySchemes: { apiKey: { type: 'http', scheme: 'bearer' } },
};

const OPERATIONS: readonly [path: string, method: string, name: OperationName, operation: Description][] = [
  [
    '/categories',
    'get',
    'listCategories',
    {
      operationId: 'listCategories',
      summary: 'Return all categories available for classifying pets.',
      security: [{ apiKey: [] }],
      responses: {
        200: response('Every category.', { type: 'array', items: ref('schemas/Category') }),
        401: UNAUTHORIZED,
        429: TOO_MANY,
      },
    },
  ],
  [
    '/categories',
    'post',
    'createCategory',
    {
      operationId: 'createCategory',
      summary: 'Add a new category.',
      security: [{ apiKey: [] }],
      requestBody: { required: true, content: { 'application/json': { schema: ref('schemas/NewCategory') } } },
      responses: {
        201: response('The created category, including the assigned id.', ref('schemas/Category')),
        400: response('The body is missing required fields or contains invalid values.', ERROR),
        401: UNAUTHORIZED,
        429: TOO_MANY,
      },
    },
  ],
  [
    '/pets/{petId}',
    'get',
    'GET /pets/{petId}',
    { deprecated: true, parameters: [PET_ID], responses: { 429: TOO_MANY, default: ref('responses/NotShown') } },
  ],
  ['/store/orders', 'get', 'GET /store/orders', { responses: { 429: TOO_MANY, default: ref('responses/NotShown') } }],
];

/**
 * Describes the service.
 * @param markers operations to carry a stability marker; service.md, section 9 says there are such and not which
 * @returns an OpenAPI 3.1 document, its server relative to where it is served
 */
export function describeService(markers: Markers): Description {
  const paths: Record<string, Record<string, Description>> = {};
  for (const [path, method, name, operation] of OPERATIONS) {
    const marker = markers.get(name);
    paths[path] = { ...paths[path], [method]: { ...operation, ...(marker ? { 'x-stability': marker } : {}) } };
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Pet Store Service', version: '1.0.0' },
    servers: [{ url: '/v1' }],
    paths,
    components: COMPONENTS,
  };
}
