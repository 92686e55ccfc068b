// The service as an OpenAPI 3.1 document; what docs/service.md leaves open is left open here.

type JsonObject = Readonly<Record<string, unknown>>;

const ref = (path: string): JsonObject => ({ $ref: `#/components/${path}` });
const string = (description: string): JsonObject => ({ type: 'string', description });
const object = (properties: Readonly<Record<string, JsonObject>>, required: readonly string[]): JsonObject => ({
  type: 'object',
  required,
  properties,
});
const jsonContent = (schema: JsonObject): JsonObject => ({ 'application/json': { schema } });

// Examples, so that a mock server reports limits that a client can work with.
const header = (description: string, example: number): JsonObject => ({
  description,
  required: true,
  schema: { type: 'integer' },
  example,
});
const LIMIT_HEADERS = {
  'X-RateLimit-Limit': ref('headers/Limit'),
  'X-RateLimit-Remaining': ref('headers/Remaining'),
  'X-RateLimit-Reset': ref('headers/Reset'),
};
const response = (description: string, schema?: JsonObject): JsonObject => ({
  description,
  headers: LIMIT_HEADERS,
  ...(schema ? { content: jsonContent(schema) } : {}),
});

const COMPONENTS: JsonObject = {
  schemas: {
    Category: object(
      {
        id: { type: 'integer', format: 'int64', description: 'Unique identifier assigned by the service on creation.' },
        name: string('Category name (for example a species name).'),
        description: string('Short description of the category.'),
      },
      ['id', 'name'],
    ),
    NewCategory: object({ name: string('Category name.'), description: string('Short description.') }, ['name']),
    Error: object(
      {
        code: string('Machine-readable error code.'),
        message: string('Human-readable description.'),
        status: { type: 'integer', description: 'The HTTP status code.' },
      },
      ['code', 'message', 'status'],
    ),
  },
  headers: {
    Limit: header('The limit that applies to the caller.', 60),
    Remaining: header('Requests left in the current window.', 59),
    Reset: header('Unix timestamp at which the limit resets.', 1_767_225_660),
  },
  responses: {
    Unauthorized: response('Missing or invalid API key.', ref('schemas/Error')),
    TooManyRequests: {
      description: 'Rate limit exceeded. The shape of the body is not specified.',
      headers: {
        ...LIMIT_HEADERS,
        'Retry-After': {
          description: 'How long to wait before retrying. Unit and format are not specified.',
          schema: { type: 'string' },
          example: '1',
        },
      },
    },
    NotSpecified: response('Behaviour and payload are not specified.'),
  },
  securitySchemes: { apiKey: { type: 'http', scheme: 'bearer' } },
};

const COMMON_RESPONSES = { 401: ref('responses/Unauthorized'), 429: ref('responses/TooManyRequests') };
const NOT_SPECIFIED = { 429: COMMON_RESPONSES[429], default: ref('responses/NotSpecified') };
const PET_ID = { name: 'petId', in: 'path', required: true, schema: { type: 'string' } };

const SECURITY = [{ apiKey: [] }];

const PATHS: JsonObject = {
  '/categories': {
    get: {
      operationId: 'listCategories',
      security: SECURITY,
      summary: 'Return all categories available for classifying pets.',
      responses: {
        200: response('All categories.', { type: 'array', items: ref('schemas/Category') }),
        ...COMMON_RESPONSES,
      },
    },
    post: {
      operationId: 'createCategory',
      security: SECURITY,
      summary: 'Add a new category.',
      requestBody: { required: true, content: jsonContent(ref('schemas/NewCategory')) },
      responses: {
        201: response('The created category, including the assigned id.', ref('schemas/Category')),
        400: response('The body is missing required fields or contains invalid values.', ref('schemas/Error')),
        ...COMMON_RESPONSES,
      },
    },
  },
  '/pets/{petId}': {
    get: { deprecated: true, security: SECURITY, parameters: [PET_ID], responses: NOT_SPECIFIED },
  },
  '/store/orders': { get: { security: SECURITY, responses: NOT_SPECIFIED } },
};

/** Its server is relative to where it is served. */
export function openApiDocument(): JsonObject {
  return {
    openapi: '3.1.0',
    info: { title: 'Pet Store Service', version: '1.0.0' },
    servers: [{ url: '/v1' }],
    paths: PATHS,
    components: COMPONENTS,
  };
}
