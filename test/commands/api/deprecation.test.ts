// The notices about Deprecation, Sunset and stability headers.
import { expect, test } from 'vitest';
import { deprecationNotices } from '../../../src/commands/api/deprecation.ts';

const DOCUMENTED = "is deprecated according to the service's documentation and will be removed";

test.each<[request: string, headers: Record<string, string | string[]>, ...notices: string[]]>([
  ['GET /categories', { 'content-type': 'application/json' }],
  ['GET /pets/1', {}, `GET /pets/1 ${DOCUMENTED}`],
  ['GET /pets', {}],
  ['DELETE /pets/1', {}],
  ['GET /x?query=1', { deprecation: '@1688169599' }, 'GET /x has been deprecated since 2023-06-30'],
  ['GET /pets/1', { deprecation: 'true' }, 'GET /pets/1 is deprecated'],
  ['GET /x', { deprecation: 'Sun, 11 Nov 2018 23:59:59 GMT' }, 'GET /x has been deprecated since 2018-11-11'],
  ['GET /x', { deprecation: 'soon\u001b[2J' }, 'GET /x is deprecated (soon␛[2J)'],
  ['GET /x', { deprecation: '@99999999999999999' }, 'GET /x is deprecated (@99999999999999999)'],
  ['GET /x', { deprecation: '@999999999999' }, 'GET /x is deprecated (@999999999999)'],
  ['GET /x', { sunset: 'Wed, 31 Dec 2031 23:59:59 GMT' }, 'GET /x will be removed on 2031-12-31'],
  ['GET /x', { sunset: 'later' }, 'GET /x will be removed on later'],
  ['POST /x', { stability: ['beta'] }, 'POST /x is marked beta and may change without notice'],
  ['POST /x', { 'x-api-stability': 'beta' }, 'POST /x is marked beta and may change without notice'],
  ['POST /x', { 'stability-level': 'beta' }, 'POST /x is marked beta and may change without notice'],
  ['GET /x', { 'x-stability': 'stable', 'x-instability': 'beta' }],
])('a response to %s with the headers %j causes the right notices', (request, headers, ...notices) => {
  const [method = '', path = ''] = request.split(' ');
  expect(deprecationNotices(method, path, headers)).toEqual(notices);
});
