-- The role and the database of the ledger. The role needs no right but to own its database.
create role tollgate login password 'PASSWORD';
create database tollgate owner tollgate;
