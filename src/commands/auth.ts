// The group `auth`: API keys, stored per profile.
import { login } from './auth/login.ts';
import { logout } from './auth/logout.ts';
import { status } from './auth/status.ts';
import { switchTo } from './auth/switch.ts';
import type { CommandGroup } from './command.ts';

export const auth: CommandGroup = {
  name: 'auth',
  description: 'log in, log out and switch between profiles',
  help: {
    examples: [
      'petstore auth login --url https://HOST/v1',
      'petstore auth login -p staging --url https://STAGING_HOST/v1',
      'petstore auth status',
    ],
  },
  commands: [login, logout, status, switchTo],
};
