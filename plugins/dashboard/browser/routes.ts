/** The cookie of a browser in which a customer is signed in, as far as it knows. It opens nothing. */
export const SIGNED_IN_COOKIE = "tollgate_signed_in";

export const BASE = "/dashboard";
