/** The version in package.json, as `User-Agent` names it [V2]. */
export const VERSION = "0.1.0";
